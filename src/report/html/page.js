"use strict";
const articles = [...document.querySelectorAll("article")];
const sections = [...document.querySelectorAll("section")];
const buttons = [...document.querySelectorAll("nav button")];
const words = document.getElementById("words");
const texts = new Map(articles.map((article) => [article, (article.closest("section").dataset.file + " " + article.textContent).toLowerCase()]));
const values = { rule: (article) => article.dataset.rule, level: (article) => article.dataset.level, file: (article) => article.closest("section").dataset.file };
const pressed = (kind) => buttons.filter((button) => button.dataset.kind === kind && button.getAttribute("aria-pressed") === "true").map((button) => button.dataset.value);
function filter() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = Object.keys(values).map((kind) => [values[kind], pressed(kind)]).filter(([, list]) => list.length > 0);
  let count = 0;
  for (const article of articles) {
    const fits = chosen.every(([value, list]) => list.includes(value(article))) && wanted.every((word) => texts.get(article).includes(word));
    article.hidden = !fits;
    count += fits ? 1 : 0;
  }
  for (const section of sections) section.hidden = !section.querySelector("article:not([hidden])");
  document.getElementById("shown").textContent = count === articles.length ? "" : count + " of " + articles.length + " shown";
}
function step(by) {
  const shown = articles.filter((article) => !article.hidden);
  const next = shown[Math.min(shown.length - 1, Math.max(0, shown.indexOf(document.activeElement.closest("article")) + by))];
  if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
}
for (const button of buttons) {
  button.addEventListener("click", () => { button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true")); filter(); });
}
words.addEventListener("input", filter);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    words.value = "";
    for (const button of buttons) button.setAttribute("aria-pressed", "false");
    filter();
    words.blur();
  } else if (event.target !== words && !event.ctrlKey && !event.metaKey && !event.altKey) {
    if (event.key === "/") { event.preventDefault(); words.focus(); }
    if (event.key === "j") step(1);
    if (event.key === "k") step(-1);
  }
});
