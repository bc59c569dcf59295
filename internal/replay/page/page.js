"use strict";
(function () {
  var data = JSON.parse(document.getElementById("data").textContent);
  var runs = Array.prototype.slice.call(document.querySelectorAll("section.run"));

  function tokens(n) {
    if (n < 1000) return String(n);
    if (n < 999500) return (n / 1000).toFixed(n < 99950 ? 1 : 0).replace(/\.0$/, "") + "k";
    return (n / 1e6).toFixed(1).replace(/\.0$/, "") + "M";
  }

  function el(name, text) {
    var e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    return e;
  }

  // One policy is shown at a time; without script all are, one below the other.
  var tabs = document.getElementById("tabs");
  var buttons = runs.map(function (section, i) {
    var b = el("button", data.runs[i].policy);
    b.type = "button";
    b.setAttribute("aria-controls", section.id);
    b.addEventListener("click", function () { show(i); });
    tabs.appendChild(b);
    return b;
  });
  tabs.hidden = runs.length < 2;

  function show(i) {
    runs.forEach(function (section, k) {
      section.hidden = k !== i;
      buttons[k].setAttribute("aria-pressed", String(k === i));
    });
  }

  function byHash() {
    var at = document.getElementById(location.hash.slice(1));
    var section = at && at.closest("section.run");
    if (!section) return;
    show(runs.indexOf(section));
    if (at.tagName === "DETAILS") at.open = true;
    at.scrollIntoView();
  }

  runs.forEach(function (section, i) {
    var run = data.runs[i];
    var svg = section.querySelector("svg.chart");
    var box = section.querySelector(".request");
    if (!svg || run.turns.length === 0) return;
    section.querySelector(".hint").hidden = false;
    var cursor = svg.querySelector(".cursor");
    var plot = svg.dataset;
    var left = Number(plot.left), width = Number(plot.width);
    var now = -1;
    svg.setAttribute("tabindex", "0");

    function pick(k) {
      k = Math.max(0, Math.min(run.turns.length - 1, k));
      if (k === now) return;
      now = k;
      var t = run.turns[k];
      cursor.setAttribute("x", String(left + k * width / run.turns.length));
      cursor.setAttribute("width", String(Math.max(width / run.turns.length, 2)));
      box.textContent = "";
      box.appendChild(el("p", "Request " + t.turn + ": " + tokens(t.tokens) + " tokens, " + tokens(t.read) + " from the cache, " +
        tokens(t.written) + " written, " + tokens(t.uncached) + " uncached; reply " + tokens(t.output) + "."));
      var list = el("ul");
      data.kinds.forEach(function (name) {
        if (t.parts[name]) list.appendChild(el("li", name + " " + tokens(t.parts[name])));
      });
      box.appendChild(list);
      if (t.prompt) box.appendChild(el("p", "Asked before it: " + t.prompt));
      if (t.tools) box.appendChild(el("p", "Calls " + t.tools.join(", ") + "."));
    }

    function pointed(ev) {
      var r = svg.getBoundingClientRect();
      var x = (ev.clientX - r.left) * 1000 / r.width - left;
      pick(Math.floor(x * run.turns.length / width));
    }
    svg.addEventListener("pointermove", pointed);
    svg.addEventListener("pointerdown", pointed);
    svg.addEventListener("focus", function () { pick(now < 0 ? 0 : now); });
    svg.addEventListener("keydown", function (ev) {
      if (ev.target !== svg) return;
      var to = { ArrowRight: now + 1, ArrowLeft: now - 1, PageDown: now + 10, PageUp: now - 10, Home: 0, End: run.turns.length - 1 }[ev.key];
      if (to === undefined) return;
      ev.preventDefault();
      pick(to);
    });
  });

  window.addEventListener("hashchange", byHash);
  show(0);
  byHash();
})();
