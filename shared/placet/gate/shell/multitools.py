"""Programs that do many things: how many words it takes to say which."""

from collections.abc import Sequence

from placet.gate.shell.programs import known_as, words

MULTI_TOOLS = words("""
    apk apt apt-get asdf aws az brew bun bundle cargo composer conda dnf docker docker-compose
    doctl dotnet fly gcloud gem gh git glab go hatch helm heroku hg jj just kubectl make mamba mise
    nerdctl netlify nix npm oc opam pacman pdm pip pip3 pipenv pipx pnpm podman poetry pulumi rustup
    rye snap stack svn systemctl terraform tofu uv vercel yarn yum zypper
""")
"""Programs whose first word says what they do; a name without it would cover everything."""

DEEP_TOOLS = words("aws az doctl gcloud gh glab")
"""Those whose first word is a group: it takes a second one."""

DEEP_WORDS = frozenset(
    f"{tool} {word}"
    for tool, groups in {
        "docker": "builder compose container image network system volume",
        "bun": "run",
        "composer": "run run-script",
        "mise": "run",
        "npm": "run run-script",
        "pnpm": "run",
        "yarn": "run",
    }.items()
    for word in words(groups)
)
"""Groups of other tools; above all those that run a script of the project by its name."""


def words_needed(program: str, following: Sequence[str]) -> int:
    """How many words say what it does, itself included, where these follow it: 1, 2 or 3."""
    name = next((name for name in known_as(program) if name in MULTI_TOOLS), None)
    if name is None:
        return 1
    deep = name in DEEP_TOOLS or (following and f"{name} {following[0]}" in DEEP_WORDS)
    return 3 if deep else 2
