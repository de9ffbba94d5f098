//! Tests of `models::Words`.

use keylint::models::Models;

#[test]
fn comments_that_state_intent() {
    let models = Models::builtin();
    let says = |text: &str| models.words.clause_on_sharing(text, false).is_some();
    for text in [
        "# same key on purpose",
        "# Use the same PRNG key for both, since only one of them is taken.",
        "# must see the same weights: reuse the keys",
        "# one validation key for all epochs, so that losses are comparable",
        "# replay with the recorded keys",
        "# common random numbers",
        "# not used",
    ] {
        assert!(says(text), "{text}");
    }
    for text in [
        "# the bias has the same shape",
        "# the same shape as the key's",
        "# never use the same key twice",
        "# don't reuse the key here",
        "# FIX-ME: it is wrong that this uses the same key",
        "# is this the same key?",
        "# avoid sharing keys",
        "# draw with the key that was given",
        "# split the key, so that the noise is not the same",
    ] {
        assert!(!says(text), "{text}");
    }
    let text = "Draw samples. The same seed gives the same samples. Not used for keys.";
    assert_eq!(models.words.clause_on_sharing(text, true), None);
}
