"""The manifest: written last, validated when read, stronger than names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten import cli
from unwritten.benchmark import Item, find_clips, read_manifest, write_manifest
from unwritten.benchmark.manifest import COLUMNS, digest_clip, measure
from unwritten.errors import UnwrittenError
from unwritten.types import MODALITIES, STYLES, Clip


def item(root: Path, stem: str = "words/standard/cat", **changes: object) -> Item:
    files = {}
    for modality, end in zip(MODALITIES, (".mp3", "_muted.mp4", ".mp4"), strict=True):
        files[modality] = root / f"{stem}{end}"
        files[modality].parent.mkdir(parents=True, exist_ok=True)
        files[modality].write_text(f"{stem} {modality}")
    letters = ("standard/c", "standard/a", "standard/t")
    clip = Clip(stem, files, "standard", "cat", "synthetic", "standard", letters)
    clip = replace(clip, **{key: value for key, value in changes.items() if key in Clip.__dataclass_fields__})
    spans = ((0.0, 1.5), (1.5, 3.25), (3.25, 4.0))
    return Item(clip, spans, 4.0, digest_clip(clip))


def edit(root: Path, **cells: str) -> Path:
    """Change cells of the only row of the CSV."""
    path = root / "manifest.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    for column, value in cells.items():
        table[column] = value
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["manifest.csv", "manifest.parquet"])
def test_what_is_written_is_what_is_read(tmp_path: Path, name: str) -> None:
    items = [item(tmp_path, "words/standard/cat"), item(tmp_path, "words/standard: with space/cat 2")]
    assert write_manifest(tmp_path, items) == tmp_path / "manifest.csv"
    again = read_manifest(tmp_path / name, verify=True)
    assert again == sorted(items, key=lambda entry: entry.clip.id)


def test_both_tables_have_the_columns_and_relative_paths(tmp_path: Path) -> None:
    write_manifest(tmp_path, [item(tmp_path)])
    for table in (pd.read_csv(tmp_path / "manifest.csv"), pd.read_parquet(tmp_path / "manifest.parquet")):
        assert tuple(table.columns) == COLUMNS
        assert table.loc[0, "av"] == "words/standard/cat.mp4"
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.csv", "manifest.parquet", "words"}


def test_a_folder_can_move_with_its_manifest(tmp_path: Path) -> None:
    write_manifest(tmp_path / "here", [item(tmp_path / "here")])
    (tmp_path / "here").rename(tmp_path / "there")
    (entry,) = read_manifest(tmp_path / "there", verify=True)
    assert entry.clip.files["av"] == tmp_path / "there/words/standard/cat.mp4"


def test_links_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/5f3a").write_text("sound")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/a-1.mp3").symlink_to(tmp_path / "store/5f3a")
    write_manifest(tmp_path / "list", [Item(clip) for clip in find_clips(tmp_path / "data")])
    (entry,) = read_manifest(tmp_path / "list")
    assert entry.clip.files["audio"].name == "a-1.mp3"


@settings(max_examples=25, deadline=None)
@given(
    st.text(alphabet="abcxyzé", min_size=1, max_size=6),
    st.sampled_from(STYLES),
    st.lists(st.floats(0, 20, allow_nan=False), max_size=5),
)
def test_any_item_survives_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory, word: str, style: str, lengths: list[float]
) -> None:
    root = tmp_path_factory.mktemp("round")
    # Six decimals of a second are what the CSV holds.
    spans = tuple((float(index), round(index + length, 6)) for index, length in enumerate(lengths))
    letters = tuple(f"{style}/{index}" for index in range(len(spans)))
    source = "synthetic" if letters else "live"
    changed = item(root, word=word, style=style, source=source, letter_clips=letters)
    made = replace(changed, letter_times_s=spans)
    write_manifest(root, [made])
    assert read_manifest(root / "manifest.csv") == read_manifest(root / "manifest.parquet") == [made]


def test_the_manifest_beside_the_data_overrides_every_name(tmp_path: Path) -> None:
    take = tmp_path / "data" / "IMG_0001.mov"
    take.parent.mkdir()
    take.write_text("a phone's take")
    (take.parent / "a-1.mp4").write_text("not listed")
    (take.parent / "manifest.csv").write_text("word,style,source,av,note\nthe cat,cursive,live,IMG_0001.mov,mine\n")
    (clip,) = find_clips(tmp_path)
    assert (clip.id, clip.word, clip.style, clip.source) == ("data/IMG_0001", "the cat", "cursive", "live")
    assert clip.files == {"av": take} and clip.letter_clips == ()


def test_a_listed_synthetic_word_knows_its_letters_without_saying(tmp_path: Path) -> None:
    write_manifest(tmp_path, [item(tmp_path)])
    edit(tmp_path, letter_clips="", letter_times_s="")
    (entry,) = read_manifest(tmp_path)
    assert entry.clip.letter_clips == ("standard/c", "standard/a", "standard/t")


@pytest.mark.parametrize(("cells", "fault"), [
    ({"style": "gothic"}, r"row 2 has the unknown style 'gothic'; known are standard, cursive, retrace"),
    ({"source": "film"}, r"row 2 has the unknown source 'film'"),
    ({"av": "gone.mp4"}, r"names .*gone\.mp4, which is not there; restore the file or remove its row"),
    ({"audio": "", "video": "", "av": ""}, r"row 2 names no file"),
    ({"letter_times_s": "0-1"}, r"1 letter times for 3 letter clips"),
    ({"letter_times_s": "0-1;2-1;3-4"}, r"must end after it starts"),
    ({"letter_times_s": "a;b;c"}, r"write start-end in seconds"),
    ({"letter_clips": "standard/c;cursive/a;standard/t"}, r"of several styles"),
    ({"duration_s": "long"}, r"duration_s 'long'"),
])  # fmt: skip
def test_a_wrong_cell_is_one_line_that_names_it(tmp_path: Path, cells: dict[str, str], fault: str) -> None:
    write_manifest(tmp_path, [item(tmp_path)])
    path = edit(tmp_path, **cells)
    with pytest.raises(UnwrittenError, match=fault) as caught:
        read_manifest(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def test_an_unknown_style_is_known_when_the_configuration_names_it(tmp_path: Path) -> None:
    write_manifest(tmp_path, [item(tmp_path, style="gothic", letter_clips=("gothic/c", "gothic/a", "gothic/t"))])
    (entry,) = read_manifest(tmp_path, styles=("gothic",))
    assert entry.clip.style == "gothic"


def test_one_id_twice_is_refused_on_both_ways(tmp_path: Path) -> None:
    with pytest.raises(UnwrittenError, match="two items have the id words/standard/cat"):
        write_manifest(tmp_path, [item(tmp_path), item(tmp_path)])
    write_manifest(tmp_path, [item(tmp_path)])
    text = (tmp_path / "manifest.csv").read_text()
    (tmp_path / "manifest.csv").write_text(text + text.splitlines()[1] + "\n")
    with pytest.raises(UnwrittenError, match="rows 2 and 3 both have the id"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("text", ["", "id,word\n1,a\n", "id,word,style,source,av\n", '"a\nb,c', "\x00\x01"])
def test_a_broken_table_is_one_line_that_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.csv").write_text(text)
    with pytest.raises(UnwrittenError, match=r"manifest\.csv: ") as caught:
        find_clips(tmp_path)
    assert "\n" not in str(caught.value)
    (tmp_path / "manifest.csv").rename(tmp_path / "manifest.parquet")
    with pytest.raises(UnwrittenError, match=r"manifest\.parquet: cannot be read"):
        find_clips(tmp_path)


def test_a_changed_file_is_found_by_its_digest(tmp_path: Path) -> None:
    made = item(tmp_path)
    write_manifest(tmp_path, [made])
    made.clip.files["video"].write_text("changed")
    read_manifest(tmp_path)
    with pytest.raises(UnwrittenError, match=r"words/standard/cat are not those that were listed"):
        read_manifest(tmp_path, verify=True)


def test_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    made = item(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwrittenError, match=r"cannot be written .*choose another place"):
        write_manifest(tmp_path / "file", [made])


def test_the_samples_get_durations_and_digests(sample_clips: Path) -> None:
    items = {entry.clip.id: entry for entry in measure(find_clips(sample_clips))}
    assert items["words/standard/above"].duration_s == pytest.approx(10.2, abs=0.2)
    assert len({entry.digest for entry in items.values()}) == len(items) == 4


def test_a_manifest_written_again_keeps_what_it_said_and_learns_of_new_files(
    sample_clips: Path, tmp_path: Path
) -> None:
    for name in ("one.mp4", "two.mp4"):  # two takes of one letter, that only the manifest tells apart
        (tmp_path / name).symlink_to(sample_clips / "letters/standard/a-1.mp4")
    row = "word,style,source,av,letter_clips,letter_times_s\na,standard,letter,{}.mp4,standard/a,0.000000-1.500000\n"
    (tmp_path / "manifest.csv").write_text(row.format("one") + row.format("two").splitlines()[1] + "\n")
    for name in ("b-2c.mp4", "b-2c.mp3"):
        (tmp_path / name).symlink_to(sample_clips / "letters/cursive/a-2c.mp4")
    assert cli.main(["manifest", str(tmp_path), "-o", str(tmp_path)]) == 0
    one, two, new = sorted(read_manifest(tmp_path, verify=True), key=lambda entry: entry.clip.word or "")
    assert one.letter_times_s == two.letter_times_s == ((0.0, 1.5),) and one.digest
    assert (new.clip.word, new.clip.style, new.clip.modalities) == ("b", "cursive", ("audio", "av"))


def test_without_a_place_to_write_the_data_stay_as_they_are(
    sample_clips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, here = tmp_path / "data", tmp_path / "here"
    data.mkdir()
    here.mkdir()
    (data / "a-1.mp3").symlink_to(sample_clips / "letters/standard/a-1.mp3")
    monkeypatch.chdir(here)
    assert cli.main(["manifest", str(data)]) == 0
    assert [path.name for path in data.iterdir()] == ["a-1.mp3"]
    assert capsys.readouterr().out.strip() == f"{here / 'manifest.csv'}: 1 item"
    assert [item.clip.word for item in read_manifest(here, verify=True)] == ["a"]


def test_the_command_writes_and_checks_a_manifest(
    sample_clips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["manifest", str(sample_clips), "-o", str(tmp_path)]) == 0
    assert cli.main(["manifest", str(tmp_path), "--check"]) == 0
    assert "4 items as listed" in capsys.readouterr().out
    assert [clip.id for clip in find_clips(tmp_path)] == [clip.id for clip in find_clips(sample_clips)]
    assert cli.main(["manifest", str(sample_clips), "--check"]) == 1
    assert "there is no manifest; write one with" in capsys.readouterr().err
