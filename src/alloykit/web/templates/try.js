// The page at /. Everything that comes from the server or the user is written as text, never as HTML.
"use strict";

const part = (id) => document.getElementById(id);
const form = part("form"), button = form.querySelector("button");
const MOST = 10; // rows that a table shows at once
const UNUSUAL = 0.95; // stats/none_of_these.py
let asked = 0;

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;

function row(label, share) {
  const made = element("tr");
  const bar = element("td", undefined, { class: "bar", "aria-hidden": "true" });
  const length = element("span");
  length.style.width = `${100 * Math.min(1, Math.max(0, share))}%`;
  bar.append(length);
  made.append(element("th", label, { scope: "row" }), element("td", percent(share)), bar);
  return made;
}

function table(caption, scores, heading = "label", column = "probability") {
  const made = element("table", undefined, { class: "answers" });
  const head = element("thead"), line = element("tr"), body = element("tbody");
  line.append(element("th", heading, { scope: "col" }), element("th", column, { scope: "col" }));
  line.append(element("td", undefined, { class: "bar", "aria-hidden": "true" }));
  line.lastChild.textContent = "";
  head.append(line);
  body.append(...scores.slice(0, MOST).map((one) => row(one.label, one.score)));
  made.append(element("caption", caption), head, body);
  const found = [made];
  if (scores.length > MOST) {
    const rest = element("details");
    const more = element("table", undefined, { class: "answers" }), others = element("tbody");
    others.append(...scores.slice(MOST).map((one) => row(one.label, one.score)));
    more.append(element("caption", `${caption}, the other labels`), others);
    rest.append(element("summary", `${scores.length - MOST} more labels`), more);
    found.push(rest);
  }
  return found;
}

// The answer to one question: its label and probability, or all labels of a multi-label student
function inWords(one) {
  const labels = one.multi_label ? one.given.join(", ") || "no label" : `${one.scores[0].label}: ${percent(one.scores[0].score)}`;
  return one.question ? `${one.question}: ${one.multi_label ? labels : one.scores[0].label}` : labels;
}

function show(answer) {
  const points = [];
  part("headline").textContent = answer.student.map(inWords).join("; ");
  if (answer.none_of_these !== null) {
    points.push(`This text is more unusual than ${percent(answer.none_of_these).replace(" ", "\u00a0")} of the texts that the student is compared with.`);
    if (answer.none_of_these >= UNUSUAL) points.push("Perhaps none of these labels fits.");
  }
  if (answer.truncated) points.push("The text is too long: the student did not read its end.");
  part("points").replaceChildren(...points.map((point) => element("li", point)));
  part("student").replaceChildren(...answer.student.flatMap((one) =>
    table(`The student's probabilities${one.question ? `, ${one.question}` : ""}`, one.scores)));
  teachers(answer.teachers, answer.why_no_teachers);
  part("results").hidden = false;
}

function teachers(found, why) {
  part("formed").hidden = !found;
  if (!found) {
    part("origin").textContent = why || "";
    part("teachers").replaceChildren();
    return;
  }
  part("origin").textContent = found.origin === "stored"
    ? "The run learned from this text. These are the teachers' stored answers."
    : "The run did not learn from this text. The teachers have classified it now.";
  part("teachers").replaceChildren(...found.answers.map((teacher) => {
    const figure = element("figure");
    figure.append(element("figcaption", teacher.name), ...(teacher.scores.length
      ? table(`Probabilities of teacher ${teacher.name}`, teacher.scores)
      : [element("p", "This teacher has no answer to this text.")]));
    return figure;
  }));
  const shares = found.answers.filter((teacher) => teacher.share !== null);
  part("how").textContent = found.target
    ? `${found.method}. The student is trained to give this target${found.weight === null ? "" : `. The text has the weight ${found.weight.toPrecision(3)}`}.`
    : `${found.method}. The target is not shown, because it does not depend on the teachers' answers to this text alone.`;
  part("shares").replaceChildren(...(shares.length
    ? table("Share of each teacher in the target", shares.map((t) => ({ label: t.name, score: t.share })), "teacher", "share")
    : []));
  part("target").replaceChildren(...(found.target ? table("The target", found.target) : []));
}

function tell(message, failed = false) {
  part("status").textContent = message;
  part("status").className = failed ? "failed" : "note";
}

async function classify(event) {
  event.preventDefault();
  const text = part("text").value, pair = part("pair") ? part("pair").value : "";
  if (!text.trim()) {
    tell("Type a text first.", true);
    part("text").focus();
    return;
  }
  const mine = ++asked;
  button.setAttribute("aria-disabled", "true");
  tell("Reading …");
  try {
    const response = await fetch("/explain", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text, pair: pair || null }),
    });
    const answer = await response.json();
    if (mine !== asked) return;
    if (!response.ok) throw new Error(answer.error);
    show(answer);
    tell(`Done. ${answer.student.map(inWords).join("; ")}.`);
  } catch (error) {
    if (mine !== asked) return;
    part("results").hidden = true;
    tell(`No answer: ${error.message}`, true);
  } finally {
    if (mine === asked) button.removeAttribute("aria-disabled");
  }
}

form.addEventListener("submit", classify);
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
