//! Requirements of packages.

use keylint::config::requirements::mentions;

fn found(name: &str, text: &str) -> Vec<String> {
    let pins = mentions(name, text, &["jax".to_owned()]);
    pins.into_iter().map(|pin| pin.map_or_else(String::new, |pin| pin.to_string())).collect()
}

#[test]
fn requirements_say_what_may_be_newest() {
    let text = "jaxlib==0.4.1\njax[cuda12]==0.4.30 ; python_version > '3.9'\nflax>=0.8\n-r other.txt\n";
    assert_eq!(found("requirements.txt", text), ["0.4.30"]);
    for (written, expected) in [
        ("jax", ""),
        ("JAX >= 0.4.1", ""),
        ("jax<0.4", "<0.4.0"),
        ("jax (<0.4)", "<0.4.0"),
        ("jax<=0.4.30", "<0.4.31"),
        ("jax>=0.3,<0.4 # old", "<0.4.0"),
        ("jax==0.4.*", "<0.5.0"),
        ("jax~=0.4.20", "<0.5.0"),
        ("jax~=0.4", "<1.0.0"),
        ("jax==0.4.30 --hash=sha256:00", "0.4.30"),
        ("jax==0.4.30 \\", "0.4.30"),
        ("jax<1", "<1.0.0"),
        ("jax!=0.4.30", ""),
        ("jax @ git+https://github.com/jax-ml/jax", ""),
    ] {
        assert_eq!(found("requirements.txt", written), [expected], "{written}");
    }
    assert_eq!(found("requirements.txt", "# jax==0.4.1\njax-md==0.1\njax is fast\n"), [""; 0]);
}

#[test]
fn projects_state_versions_in_their_metadata() {
    let text = "[project]\ndependencies = ['numpy', 'jax>=0.3,<0.4']\n[project.optional-dependencies]\ngpu = ['jax[cuda]<0.4']\n\
                [dependency-groups]\ndev = ['pytest', {include-group = 'x'}, 'jax==0.3.25']\n";
    assert_eq!(found("pyproject.toml", text), ["<0.4.0", "<0.4.0", "0.3.25"]);
    let text = "[tool.poetry.dependencies]\njax = '^0.4.1'\n[tool.poetry.group.gpu.dependencies]\n\
                jax = {version = '~0.4', extras = ['cuda']}\n[tool.poetry.dev-dependencies]\njax = '0.4.30'\n";
    assert_eq!(found("pyproject.toml", text), ["<0.5.0", "0.4.30", "<0.5.0"]);
    assert_eq!(found("pyproject.toml", "jax = ["), [""; 0]);
    let text =
        "[options]\ninstall_requires =\n    numpy\n    jax>=0.3,<0.4\n[options.extras_require]\ngpu = jax[cuda]<0.4\n";
    assert_eq!(found("setup.cfg", text), ["<0.4.0", "<0.4.0"]);
    let text = "setup(name=\"jax\", keywords=['jax'], install_requires=['numpy', \"jax<=0.4.13\"])\n";
    assert_eq!(found("setup.py", text), ["<0.4.14"]);
}
