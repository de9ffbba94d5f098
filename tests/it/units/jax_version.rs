//! Versions of JAX.

use keylint::config::jax_version::{agreed, from_lock};
use keylint::config::{JaxPin, JaxVersion};

fn jax() -> Vec<String> {
    vec!["jax".to_owned()]
}

fn version(text: &str) -> Option<String> {
    JaxVersion::parse(text).map(|version| version.to_string())
}

#[test]
fn versions_are_read_leniently() {
    assert_eq!(version("0.4.35").as_deref(), Some("0.4.35"));
    assert_eq!(version("0.4").as_deref(), Some("0.4.0"));
    assert_eq!(version("0.5.1rc2").as_deref(), Some("0.5.1"));
    assert_eq!(version("0.6.0.dev20250401+abc").as_deref(), Some("0.6.0"));
    assert_eq!(version("latest"), None);
    assert_eq!(version("7"), None);
}

#[test]
fn newest_version_below_a_bound() {
    let newest = |text: &str| JaxPin::Below(JaxVersion::parse(text).unwrap()).newest();
    assert_eq!(newest("0.4.31"), JaxVersion::parse("0.4.30").unwrap());
    assert!(
        newest("0.4.0") < JaxVersion::parse("0.4").unwrap() && newest("0.4.0") > JaxVersion::parse("0.3.99").unwrap()
    );
    assert!(
        newest("1.0.0") < JaxVersion::parse("1.0").unwrap() && newest("1.0.0") > JaxVersion::parse("0.99").unwrap()
    );
}

#[test]
fn lock_files_are_read_and_disagreeing_pins_say_nothing() {
    let one = "[[package]]\nname = \"jax\"\nversion = \"0.4.31\"\n";
    assert_eq!(agreed(&from_lock(one, &jax())).unwrap().to_string(), "0.4.31");
    let two = format!("{one}[[package]]\nname = \"jax\"\nversion = \"0.5.0\"\n");
    assert_eq!(agreed(&from_lock(&two, &jax())), None);
    assert!(from_lock("jax = [", &jax()).is_empty());
}
