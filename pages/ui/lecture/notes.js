// The speaker's notes: first those of the link, then those that the lecture sends that opened this window; a window
// that no lecture opened listens to any lecture in the same browser.

const STEPS = { ArrowRight: 1, PageDown: 1, ArrowLeft: -1, PageUp: -1 };
const windows = new WeakMap();

export default function ({ data, parentElement }) {
  if (!windows.has(parentElement)) {
    const notes = new Notes(parentElement);
    windows.set(parentElement, notes);
    notes.show(data.said);
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
    this.channel = new BroadcastChannel("bertcalc-lecture");
    const [, lecture = ""] = window.name.split("bertcalc-notes-");
    this.channel.onmessage = ({ data }) => {
      if (data.said && (!lecture || data.from === lecture)) this.show(data.said);
    };
    this.keys = (event) => {
      const by = STEPS[event.key];
      if (by) this.channel.postMessage({ by, to: lecture });
    };
    document.addEventListener("keydown", this.keys);
  }

  close() {
    document.removeEventListener("keydown", this.keys);
    this.channel.close();
  }

  show(said) {
    for (const [name, part] of this.parts) part.textContent = said[name];
  }
}
