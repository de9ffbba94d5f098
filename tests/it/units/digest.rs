//! Tests of `text::Digest`.

use keylint::text::{Digest, Digester};

#[test]
fn digests_depend_on_where_parts_end() {
    let of = |parts: &[&str]| {
        let mut digester = Digester::default();
        for part in parts {
            digester.add(part);
        }
        digester.finish()
    };
    assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
    assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    assert_ne!(of(&["ab"]), of(&["ab", ""]));
    assert_eq!(of(&["ab"]), Digest::of(b"ab"));
    assert_eq!(Digest::of(b"ab").to_string().len(), 32);
}
