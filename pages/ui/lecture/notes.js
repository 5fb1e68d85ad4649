// The window with the speaker's notes. It starts with the notes for the screen in its link, and then shows the notes
// that its lecture sends. A window that no lecture opened listens to any lecture in the same browser. A clock shows the
// time of day, and the time since this window was first opened; a click restarts this time.

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
const START = "bertcalc-notes-start";
const windows = new WeakMap();

export default function ({ data, parentElement }) {
  if (!windows.has(parentElement)) {
    const notes = new Notes(parentElement);
    windows.set(parentElement, notes);
    notes.show(data.screen);
    notes.clock.title = data.clock;
    notes.channel.postMessage("hello");
  }
  return () => windows.get(parentElement).close();
}

class Notes {
  constructor(parent) {
    this.parts = ["title", "notes", "after"].map((name) => {
      const part = element(name === "title" ? "h1" : "p", { class: name });
      parent.append(part);
      return [name, part];
    });
    this.clock = element("button", { type: "button", class: "clock" });
    this.clock.onclick = () => this.start();
    parent.prepend(this.clock);
    if (!sessionStorage.getItem(START)) this.start(); // after a reload, the clock continues
    this.ticks = setInterval(() => this.tick(), 1000);
    this.tick();
    this.channel = new BroadcastChannel("bertcalc-lecture");
    const [, lecture = ""] = window.name.split("bertcalc-notes-");
    this.channel.onmessage = ({ data }) => {
      if (data.screen && (!lecture || data.from === lecture)) this.show(data.screen);
    };
    this.keys = (event) => {
      const by = STEPS[event.key];
      if (by) this.channel.postMessage({ by, to: lecture });
    };
    document.addEventListener("keydown", this.keys);
  }

  start() {
    sessionStorage.setItem(START, Date.now());
    this.tick();
  }

  tick() {
    const seconds = Math.floor((Date.now() - sessionStorage.getItem(START)) / 1000);
    const two = (number) => `${number}`.padStart(2, "0");
    const now = new Date();
    const taken = `${two(Math.floor(seconds / 60))}:${two(seconds % 60)}`;
    this.clock.textContent = `${two(now.getHours())}:${two(now.getMinutes())} · ${taken}`;
  }

  close() {
    clearInterval(this.ticks);
    document.removeEventListener("keydown", this.keys);
    this.channel.close();
  }

  show(screen) {
    for (const [name, part] of this.parts) part.textContent = screen[name];
  }
}
