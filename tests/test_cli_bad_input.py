"""What the command line refuses: one line, status 1 or 2, nothing written."""

from __future__ import annotations

import pytest

from unwritten.cli import main


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("track {clip} -o out.csv --ink ink.jpg", "--ink ink.jpg: give a name that ends in .png or .svg"),
        ("track {clip} -o out.csv --overlay over.png", "--overlay over.png: give a name that ends in .mp4 or .webm"),
        ("track {clip} -o out.mp4", "-o out.mp4: give a name that ends in .csv"),
        ("read {clip} --length 1 --lexicon nowhere.txt", "--lexicon nowhere.txt"),
        ("read {clip} --length x", "--length"),
        ("read", "CLIP"),
        ("export {clip} -o small.ckpt --limit 0", "--limit above 0"),
        ("synthesize . -o words --workers -1", "--workers: -1: give a whole number, 1 or more"),
        ("synthesize . -o words --fps nan", "rate_hz"),
        ("manifest . --workers 0", "--workers: 0"),
        ("audit . --workers -2", "--workers: -2"),
        ("split . --seed -1", "--seed: -1: give a whole number, 0 or more"),
        ("split . --protocol live -o parts.json --time-limit -1", "time_limit_s=-1.0: give 0 or more"),
        ("corpus . -o sample --seed -1", "--seed: -1"),
        ("human . -o trials --seed -1", "--seed: -1"),
        ("human . -o trials --baseline run --checkpoint file", "--baseline with --checkpoint"),
        ("clips . --patterns list.yaml", "list.yaml: holds no settings by name"),
        ("clips . --patterns latin.yaml", "latin.yaml: cannot be read as YAML"),
        ("clips . --patterns marks.yaml", "marks=3: give names with values"),
        ("store --store list.yaml", "list.yaml: is no folder"),
        ("nonsense", "nonsense"),
    ],
)
def test_one_line_says_what_is_wrong_and_nothing_is_written(tmp_path, monkeypatch, capsys, command, named):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clip_muted.mp4").write_bytes(b"no film")
    (tmp_path / "list.yaml").write_text("- marks\n")
    (tmp_path / "latin.yaml").write_bytes("marks: {standard: ä}\n".encode("latin-1"))
    (tmp_path / "marks.yaml").write_text("marks: 3\n")
    before = sorted(tmp_path.iterdir())
    try:
        status = main(command.format(clip="clip_muted.mp4").split())
    except SystemExit as stop:
        status = stop.code
    said = capsys.readouterr()
    assert status in (1, 2)
    assert said.err.count("\n") == 1 and named in said.err, said.err
    assert not said.out
    assert sorted(tmp_path.iterdir()) == before
