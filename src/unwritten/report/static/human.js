"use strict";
const study = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);
const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
const SAVED = `unwritten-human-${study.seed}-${study.trials.length}-${study.trials[0].key}`;
const store = value => { try { localStorage.setItem(SAVED, JSON.stringify(value)); } catch { /* private windows keep nothing */ } };
const stored = () => { try { return JSON.parse(localStorage.getItem(SAVED)); } catch { return null; } };
const forget = () => { try { localStorage.removeItem(SAVED); } catch { /* nothing was kept */ } };

const unseal = trial => {
  const bytes = Uint8Array.from(atob(trial.sealed), letter => letter.charCodeAt(0));
  return JSON.parse(String.fromCharCode(...bytes.map((byte, at) => byte ^ trial.key.charCodeAt(at % trial.key.length))));
};
const hash = text => {  // FNV-1a
  let value = 2166136261;
  for (const letter of text) value = Math.imul(value ^ letter.charCodeAt(0), 16777619);
  return value >>> 0;
};
const random = seed => () => {  // mulberry32
  seed = (seed + 0x6D2B79F5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
// Participant p takes the p-th stretch of the ring; a name that is no number takes one by chance, always the same.
const trialsOf = person => {
  const number = /^\d{1,6}$/.test(person) && Number(person) > 0 ? Number(person) - 1 : hash(person);
  const first = (number % study.people) * study.count;
  const own = Array.from({ length: study.count }, (_, at) => (first + at) % study.trials.length);
  const next = random(hash(`${study.seed}/${person}`));
  for (let at = own.length - 1; at > 0; at--) {
    const other = Math.floor(next() * (at + 1));
    [own[at], own[other]] = [own[other], own[at]];
  }
  return own;
};

const tasks = { audio: "Listen: which word is it?", video: "Watch: which word is it?", av: "Watch and listen: which word is it?" };
const kinds = { audio: "sound", video: "silent film", av: "film with sound" };
let session = null, began = 0;
const show = id => {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== id;
  scrollTo(0, 0);
  const heading = byId(id).querySelector("h1");
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
};

const present = () => {
  const at = session.answers.length;
  if (at >= session.order.length) { finish(); return; }
  const trial = study.trials[session.order[at]];
  byId("where").textContent = `${at + 1} of ${session.order.length}`;
  byId("bar").value = at;
  byId("task").textContent = trial.n === 1 ? tasks[trial.modality].replace("word", "letter") : tasks[trial.modality];
  const media = trial.modality === "audio"
    ? make("audio", { controls: "", preload: "auto", src: trial.src, controlslist: "nodownload" })
    : make("video", { controls: "", preload: "auto", playsinline: "", disablepictureinpicture: "", src: trial.src,
      controlslist: "nodownload" });
  media.setAttribute("aria-label", kinds[trial.modality]);
  began = 0;
  byId("send").disabled = true;
  byId("hint").textContent = "Play the clip first.";
  media.addEventListener("play", () => {
    if (began) return;
    began = performance.now();
    byId("send").disabled = false;
    byId("hint").textContent = "";
  });
  media.addEventListener("error", () => { byId("hint").textContent = "This clip does not play here; please tell whoever invited you."; });
  byId("player").replaceChildren(trial.modality === "audio"
    ? make("div", { class: "listen" }, make("p", {}, "There is nothing to see here."), media) : media);
  const word = byId("word");
  word.value = "";
  if (trial.n) word.maxLength = trial.n; else word.removeAttribute("maxlength");
  byId("ask").textContent = trial.n ? `${trial.n} ${trial.n === 1 ? "letter" : "letters"}, a to z` : "One word, a to z";
  byId("boxes").replaceChildren(...Array.from({ length: trial.n || 0 }, () => make("span")));
  show("trial");
};
byId("word").addEventListener("input", () => {
  const letters = byId("word").value.toLowerCase();
  [...byId("boxes").children].forEach((box, at) => { box.textContent = letters[at] ?? ""; });
});
byId("answer").addEventListener("submit", event => {
  event.preventDefault();
  if (!began) return;
  const trial = study.trials[session.order[session.answers.length]];
  const word = byId("word").value.trim().toLowerCase();
  if (trial.n && word.length !== trial.n) {
    byId("hint").textContent = `The word has ${trial.n} ${trial.n === 1 ? "letter" : "letters"}. Guess those that you did not get.`;
    byId("word").focus();
    return;
  }
  session.answers.push({ word, seconds: Math.round((performance.now() - began) / 100) / 10 });
  store(session);
  present();
});

// A spreadsheet runs what begins like this as a formula.
const plain = value => /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
const quoted = value => /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
const csv = () => {
  const lines = ["item,modality,answer,person,seconds"];
  session.answers.forEach((answer, at) => {
    const trial = study.trials[session.order[at]];
    lines.push([unseal(trial).item, trial.modality, answer.word, session.person, answer.seconds.toFixed(1)].map(plain).map(quoted).join(","));
  });
  return lines.join("\n") + "\n";
};
const accuracy = (truth, answer) => [...truth].filter((letter, at) => letter === answer[at]).length / truth.length;
const marked = (word, truth) => {
  const cell = make("td");
  if (!word) cell.textContent = "–";
  [...word].forEach((letter, at) => cell.append(truth ? make(letter === truth[at] ? "b" : "i", {}, letter) : letter));
  return cell;
};
const finish = () => {
  const text = csv();
  const link = byId("download");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = `answers-${session.person}.csv`;
  byId("text").value = text;
  const rows = session.answers.map((answer, at) => ({ ...unseal(study.trials[session.order[at]]), said: answer.word,
    modality: study.trials[session.order[at]].modality }));
  const judged = rows.filter(row => row.truth);
  const mean = name => 100 * judged.reduce((sum, row) => sum + accuracy(row.truth, row[name]), 0) / judged.length;
  const you = judged.length ? mean("said") : 0, machine = judged.length ? mean("baseline") : 0;
  byId("result").textContent = !judged.length ? "Your answers are ready to be saved."
    : `You had ${you.toFixed(0)} % of the letters in their place` + (study.baseline
      ? `; the machine had ${machine.toFixed(0)} %. ${you > machine ? "You beat it." : you < machine ? "It beat you this time." : "A draw."}`
      : ".");
  const heads = ["clip", "word", "you", ...(study.baseline ? ["machine"] : [])];
  byId("answers").replaceChildren(make("table", {}, make("caption", {}, "Letters in their place are green"),
    make("thead", {}, make("tr", {}, ...heads.map(name => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows.map(row => make("tr", {}, make("td", { class: "kind" }, kinds[row.modality]),
      make("td", {}, row.truth || "–"), marked(row.said, row.truth),
      ...(study.baseline ? [marked(row.baseline, row.truth)] : []))))));
  show("end");
};

byId("agree").addEventListener("submit", event => {
  event.preventDefault();
  const person = byId("person").value.trim();
  session = { person, order: trialsOf(person), answers: [] };
  show("instructions");
});
byId("begin").addEventListener("click", () => { store(session); present(); });
let kept = false;
byId("download").addEventListener("click", () => { kept = true; });
byId("again").addEventListener("click", () => {
  if (!kept && !confirm("These answers were not saved from here. Forget them?")) return;
  forget();
  location.reload();
});
const given = new URLSearchParams(location.search).get("p");
if (given) byId("person").value = given;
const before = stored();
if (before?.order?.length === study.count && Array.isArray(before.answers)) { session = before; present(); }
