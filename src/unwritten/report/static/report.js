"use strict";
// Tables: a click on a heading sorts by it, a second click the other way round.
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, place) => {
    const cell = row.cells[place], text = cell.dataset.key ?? cell.textContent.trim();
    if (text === "None" || text === "" || text === "–") return null;
    const number = Number(text.replace(/[,%$]/g, ""));
    return Number.isNaN(number) ? text : number;
  };
  heads.forEach((head, place) => head.querySelector("button").addEventListener("click", () => {
    const first = head.classList.contains("n") ? "descending" : "ascending";
    const now = head.getAttribute("aria-sort");
    const order = now === null ? first : now === "ascending" ? "descending" : "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const compare = (a, b) => {
      // What is not known stands last, whichever way.
      if (a === null || b === null) return (a === null) - (b === null);
      return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
    };
    body.append(...[...body.rows].sort((a, b) => compare(key(a, place), key(b, place))));
  }));
}

for (const select of document.querySelectorAll("select[data-chooses]")) {
  const update = () => {
    for (const child of document.getElementById(select.dataset.chooses).children)
      child.hidden = child.dataset.choice !== select.value;
  };
  select.addEventListener("change", update);
  update();
}

const data = document.getElementById("gallery-data");
if (data) {
  const { items, readers } = JSON.parse(data.textContent);
  const byId = id => document.getElementById(id);
  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const verdict = answer => answer === undefined || answer.ola === null ? "" :
    answer.ola >= 1 ? "right" : answer.ola > 0 ? "part" : "wrong";
  const words = { right: "✓ right", part: "◐ partly", wrong: "✗ wrong", "": "–" };
  const signs = { right: "✓", part: "◐", wrong: "✗", "": "·" };
  const answerOf = item => item.answers.find(answer => answer.by === Number(byId("g-reader").value));
  let shown = items, place = 0;

  const spelled = (word, truth) => {
    const span = make("span", { class: "word" });
    [...word].forEach((letter, at) => span.append(truth ? make(letter === truth[at] ? "b" : "i", {}, letter) : letter));
    return span;
  };
  const view = (name, ...children) => make("div", {}, make("h4", {}, name), ...children);
  const fragment = svg => {
    const box = make("div");
    box.innerHTML = svg;  // made by this report, never by a reader
    return box;
  };
  const draw = () => {
    const article = byId("g-item"), item = shown[place];
    byId("g-count").textContent = shown.length ? `${place + 1} of ${shown.length}` : "no item";
    byId("g-prev").disabled = place <= 0;
    byId("g-next").disabled = place >= shown.length - 1;
    [...byId("g-strip").children].forEach((entry, at) => {
      const button = entry.firstChild;
      if (at === place) {
        button.setAttribute("aria-current", "true");
        const strip = byId("g-strip");
        strip.scrollLeft = entry.offsetLeft - strip.offsetLeft - strip.clientWidth / 2 + entry.clientWidth / 2;
      } else button.removeAttribute("aria-current");
    });
    article.replaceChildren();
    if (!item) { article.append("No item fits this choice."); return; }
    const about = [item.id, item.style, item.source, item.writer && `writer ${item.writer}`,
      item.duration_s && `${item.duration_s.toFixed(1)} s`].filter(Boolean).join(" · ");
    article.append(make("h3", {}, item.truth || "word unknown", make("small", {}, about)));
    const views = make("div", { class: item.frame ? "views with-frame" : "views" });
    if (item.frame) {
      const frame = view("First frame", make("img", { src: item.frame, alt: "First frame of the clip that is not black" }));
      frame.className = "frame";
      views.append(frame);
    }
    const rest = make("div", { class: "views" });
    if (item.ink) rest.append(view("Recovered ink, one panel for each shot; pen-up travel is faint", fragment(item.ink)));
    if (item.sound) rest.append(view("Sound over its floor, up to 8 kHz", make("img", { class: "sound", src: item.sound,
      alt: "Log-mel spectrogram of the clip" })));
    for (const [modality, svg] of Object.entries(item.emissions)) {
      const names = { audio: "sound", video: "muted video", av: "sound + video" };
      rest.append(view(`Letters over time, from ${names[modality] ?? modality}`, fragment(svg)));
    }
    if (rest.children.length) views.append(rest);
    if (views.children.length) article.append(views);
    if (item.missing) article.append(make("p", { class: "note" }, item.missing));
    const rows = item.answers.map(answer => {
      const by = readers[answer.by], is = verdict(answer);
      const said = answer.state === "answered" ? spelled(answer.word, item.truth) : make("em", {}, answer.state);
      const more = answer.state !== "answered" ? answer.error :
        answer.top.length > 1 ? answer.top.map(([word, p]) => `${word} ${(100 * p).toFixed(0)} %`).join(", ") :
        answer.raw ? `said “${answer.raw.slice(0, 120)}”` : "";
      const row = make("tr", {}, make("th", { scope: "row" }, by.label, make("small", {}, by.name)), make("td", {}, said),
        make("td", { class: `verdict ${is}` }, words[is]), make("td", { class: "top" }, more));
      if (item.sent.length) {
        const sent = item.sent[answer.sent], cell = make("td", { class: "sent" });
        if (sent?.frames) cell.append(make("img", { src: sent.frames, alt: "Frames that the model was sent, in order" }));
        if (sent) cell.append(make("small", {}, sent.text));
        row.append(cell);
      }
      return row;
    });
    const names = ["reader", "answer", "", "candidates", ...(item.sent.length ? ["what it was sent"] : [])];
    const head = make("tr", {}, ...names.map(name => make("th", { scope: "col" }, name)));
    article.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answers to this item" },
      make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))));
  };
  const go = to => {
    if (to < 0 || to >= shown.length) return;
    place = to;
    draw();
  };
  const choose = () => {
    const wanted = byId("g-verdict").value, style = byId("g-style").value, before = shown[place];
    shown = items.filter(item => (wanted === "all" || verdict(answerOf(item)) === wanted) && (!style || item.style === style));
    place = Math.max(0, shown.indexOf(before));
    byId("g-strip").replaceChildren(...shown.map((item, at) => {
      const is = verdict(answerOf(item));
      const button = make("button", { type: "button", class: is, "aria-label": `${item.truth || item.id}, ${words[is]}` },
        `${signs[is]} ${item.truth || item.id.split("/").pop()}`);
      button.addEventListener("click", () => go(at));
      return make("li", {}, button);
    }));
    draw();
  };
  for (const id of ["g-reader", "g-verdict", "g-style"]) byId(id).addEventListener("change", choose);
  byId("g-prev").addEventListener("click", () => go(place - 1));
  byId("g-next").addEventListener("click", () => go(place + 1));
  const visible = () => { const box = byId("viewer").getBoundingClientRect(); return box.top < innerHeight && box.bottom > 0; };
  addEventListener("keydown", event => {
    if (event.target.closest("select, input, textarea, .scroll") || event.altKey || event.ctrlKey || event.metaKey) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step && visible()) { event.preventDefault(); go(place + step); }
  });
  choose();
}
