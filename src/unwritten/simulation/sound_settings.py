"""What the microphone's recording of a dry pen is drawn from, and how hard: ``mild``, ``measured``, ``harsh``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from unwritten.errors import UsageError

Range = tuple[float, float]


@dataclass(frozen=True)
class SoundSettings:
    """Settings of the simulated sound; the defaults are those of severity ``measured``.

    A mean comes with the spread (standard deviation) it is drawn with, once per clip unless a shot or an event is
    named. Levels in dBFS are those of real clips of the benchmark (see ``docs/reference/sound.md``).

    Attributes:
        friction_over_floor_db, friction_over_floor_sd_db: by how much the scratch at the writer's usual speed stands
            over the floor in 2 to 8 kHz.
        speed_exponent: range of a in amplitude ~ speed^a.
        absolute_speed_weight: 0: a writer's usual speed sounds alike for all writers; 1: fast writers are louder.
        friction_tilt_sd_db: spread of the scratch's spectral tilt from 1 to 8 kHz.
        texture_db: spread of the level of one band over places on the paper.
        texture_mm: distance over which that level changes.
        pressure_sd_db: spread of the slow changes of level (80 ms) that speed does not explain.
        grain_sd_db: spread of its fast changes (15 ms): the paper's fibres.
        flicker_sd_db: spread of fast changes of each band by itself (10 ms).
        direction_db: largest difference of level between directions of the stroke.
        attack_s, release_s: time constants with which contact begins and ends.
        touch_dbfs, touch_writer_sd_db, touch_sd_db: peak of the thump at touch-down, its spread over writers and over
            touches.
        touch_lead_s: range of the time from the thump to the first motion of the stroke.
        lift_probability: share of lifts that tick.
        tick_per_s: short ticks a second from anywhere.
        gain_sd_db: spread of the whole recording's gain.
        floor_eq_sd_db: spread of the floor in each band.
        floor_tilt_sd_db: spread of the floor's tilt from 100 Hz to 8 kHz.
        shot_gain_sd_db, shot_eq_sd_db, shot_friction_sd_db: steps of gain, spectrum and scratch at each join.
        hum_dbfs, hum_sd_db: level of the mains' hum and its harmonics.
        tone_dbfs, tone_sd_db: level of a machine's steady tone (100 to 500 Hz).
        rumble_sd_db: spread of slow changes of the floor below 1 kHz.
        handling_per_s: rustles of hand, sleeve and paper a second.
        handling_db: range of their level over the floor.
        hand_rub_db: level of the writing hand's low rub (300 to 1500 Hz) over the floor at the usual speed.
        room_db: range of the reverberation's level under the scratch.
        room_s: range of the reverberation time (60 dB).
        microphone_sd_db: spread of the microphone's response in each band.
        lag_s: range, per shot, by which the sound comes later than the picture; kept where the shot's sound stays
            inside the shot.
        agc: range of automatic gain control: share of the level's slow changes that is taken back.
        hole_per_s: spectral holes a second above 4 kHz, as codecs cut them; in the clips that have any.
        hole_probability: share of clips with such holes.
        lowpass_probability: share of clips whose codec cuts the highest frequencies.
        lowpass_hz: range of that cut.
        gap_probability, gap_s: share of joins with digital silence, and its length.
        clip_dbfs: level at which the converter clips.
    """

    friction_over_floor_db: float = 11.0
    friction_over_floor_sd_db: float = 2.5
    speed_exponent: Range = (0.5, 1.1)
    absolute_speed_weight: float = 0.3
    friction_tilt_sd_db: float = 3.0
    texture_db: float = 3.8
    texture_mm: float = 2.0
    pressure_sd_db: float = 1.2
    grain_sd_db: float = 1.2
    flicker_sd_db: float = 3.0
    direction_db: float = 1.5
    attack_s: float = 0.006
    release_s: float = 0.010
    touch_dbfs: float = -40.0
    touch_writer_sd_db: float = 7.0
    touch_sd_db: float = 5.0
    touch_lead_s: Range = (0.0, 0.09)
    lift_probability: float = 0.5
    tick_per_s: float = 0.25
    gain_sd_db: float = 4.0
    floor_eq_sd_db: float = 1.5
    floor_tilt_sd_db: float = 4.0
    shot_gain_sd_db: float = 1.0
    shot_eq_sd_db: float = 0.8
    shot_friction_sd_db: float = 1.5
    hum_dbfs: float = -57.0
    hum_sd_db: float = 6.0
    tone_dbfs: float = -51.0
    tone_sd_db: float = 6.0
    rumble_sd_db: float = 4.0
    handling_per_s: float = 0.15
    handling_db: Range = (3.0, 14.0)
    hand_rub_db: float = 0.0
    room_db: Range = (-24.0, -14.0)
    room_s: Range = (0.15, 0.45)
    microphone_sd_db: float = 2.0
    lag_s: Range = (-0.08, 0.35)
    agc: Range = (0.0, 0.1)
    hole_per_s: float = 4.0
    hole_probability: float = 0.4
    lowpass_probability: float = 0.03
    lowpass_hz: Range = (5_000.0, 8_000.0)
    gap_probability: float = 0.3
    gap_s: Range = (0.0, 0.03)
    clip_dbfs: float = 0.0

    def __post_init__(self) -> None:
        for name in ("speed_exponent", "touch_lead_s", "handling_db", "room_db", "room_s", "lag_s", "agc"):
            low, high = getattr(self, name)
            if low > high:
                raise ValueError(f"{name} must be a range (low, high), got ({low}, {high})")
        for name in ("lift_probability", "hole_probability", "lowpass_probability", "gap_probability"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)}")
        if self.texture_mm <= 0 or self.attack_s <= 0 or self.release_s <= 0:
            raise ValueError("texture_mm, attack_s and release_s must be positive")


MEASURED = SoundSettings()
MILD = replace(
    MEASURED,
    friction_over_floor_db=16.0,
    friction_over_floor_sd_db=2.0,
    texture_db=2.5,
    pressure_sd_db=1.0,
    grain_sd_db=0.7,
    flicker_sd_db=1.5,
    direction_db=1.0,
    touch_writer_sd_db=3.0,
    tick_per_s=0.05,
    floor_eq_sd_db=0.5,
    floor_tilt_sd_db=1.5,
    shot_gain_sd_db=0.3,
    shot_eq_sd_db=0.3,
    shot_friction_sd_db=0.7,
    rumble_sd_db=1.0,
    handling_per_s=0.0,
    hand_rub_db=-3.0,
    room_db=(-30.0, -24.0),
    microphone_sd_db=1.0,
    lag_s=(0.0, 0.0),
    agc=(0.0, 0.0),
    hole_probability=0.0,
    lowpass_probability=0.0,
    gap_probability=0.0,
)
HARSH = replace(
    MEASURED,
    friction_over_floor_db=9.0,
    friction_over_floor_sd_db=4.0,
    speed_exponent=(0.4, 1.6),
    friction_tilt_sd_db=5.0,
    texture_db=5.0,
    pressure_sd_db=2.5,
    grain_sd_db=2.0,
    flicker_sd_db=4.0,
    direction_db=4.0,
    touch_writer_sd_db=10.0,
    touch_sd_db=7.0,
    tick_per_s=0.8,
    gain_sd_db=8.0,
    floor_eq_sd_db=3.0,
    floor_tilt_sd_db=8.0,
    shot_gain_sd_db=3.0,
    shot_eq_sd_db=2.0,
    shot_friction_sd_db=3.0,
    rumble_sd_db=5.0,
    handling_per_s=0.6,
    handling_db=(3.0, 22.0),
    hand_rub_db=5.0,
    room_db=(-18.0, -8.0),
    room_s=(0.2, 0.9),
    microphone_sd_db=4.0,
    lag_s=(-0.2, 0.45),
    agc=(0.0, 0.5),
    hole_probability=0.7,
    hole_per_s=8.0,
    lowpass_probability=0.25,
    lowpass_hz=(3_500.0, 8_000.0),
    gap_probability=0.5,
    gap_s=(0.0, 0.08),
    clip_dbfs=-20.0,
)
SEVERITIES: Mapping[str, SoundSettings] = {"mild": MILD, "measured": MEASURED, "harsh": HARSH}


def sound_settings(severity: str) -> SoundSettings:
    """The settings of a severity.

    Raises:
        UsageError: no such severity.
    """
    try:
        return SEVERITIES[severity]
    except KeyError:
        raise UsageError(f"severity {severity}: no such severity; known are {', '.join(SEVERITIES)}") from None
