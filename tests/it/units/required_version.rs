//! `required-version`.

use keylint::config::version::meets;

#[test]
fn requirements_are_those_of_python_packages() {
    for required in ["0.1.0", "0.1", "==0.1.*", ">=0.1, <0.2", "~=0.1.0", "!=0.2", ">0.0.9", "<=0.1.0", "~=0.0"] {
        assert_eq!(meets("0.1.0", required), Ok(true), "{required}");
    }
    for required in ["0.2", ">0.1", ">=0.1,<0.1.0", "!=0.1.*", "~=0.2.0", "~=1.0", "==1.*"] {
        assert_eq!(meets("0.1.0", required), Ok(false), "{required}");
    }
    for required in ["", "new", ">=", "=0.1", "0.1.*", ">=0.1,", "~=1", "1.x"] {
        assert!(meets("0.1.0", required).is_err(), "{required}");
    }
}
