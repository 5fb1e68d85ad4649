// The button and the key that open the speaker's notes in a separate window, and the lecture's messages to this window.
// Browsers allow a new window only after a click or a key press. The window's name identifies its lecture, because
// several lectures can be open in a browser.

const doors = new WeakMap();

export default function ({ data, parentElement }) {
  let door = doors.get(parentElement);
  if (!door) doors.set(parentElement, (door = new Door(parentElement)));
  door.update(data);
  return () => door.close();
}

class Door {
  constructor(parent) {
    this.button = element("button", { type: "button" });
    this.button.onclick = () => this.open();
    parent.append(this.button);
    this.channel = new BroadcastChannel("bertcalc-lecture");
    this.lecture = sessionStorage.getItem("bertcalc-lecture") ?? `${Math.random()}`.slice(2);
    sessionStorage.setItem("bertcalc-lecture", this.lecture); // keeps the identity after a reload of the page
    this.channel.onmessage = ({ data }) => {
      if (data === "hello") this.say();
      // Key presses in the notes window also step through the lecture.
      else if (data.by && (!data.to || data.to === this.lecture)) {
        window.dispatchEvent(new CustomEvent("bertcalc-ask", { detail: { do: "go", by: data.by } }));
      }
    };
    this.keys = (event) => {
      const typing = "input:not([type=range]), textarea, [contenteditable=true]";
      if (event.key !== "n" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.(typing)) return;
      event.preventDefault();
      this.open();
    };
    document.addEventListener("keydown", this.keys);
  }

  close() {
    document.removeEventListener("keydown", this.keys);
    this.channel.close();
  }

  update({ label, screen }) {
    this.screen = screen;
    this.button.replaceChildren(label, element("kbd", { text: "N" }));
    this.say();
  }

  say() {
    this.channel.postMessage({ screen: this.screen, from: this.lecture });
  }

  open() {
    const address = new URL(window.location.href);
    address.searchParams.set("screen", this.screen.name);
    address.searchParams.set("notes", "true");
    window.open(address, `bertcalc-notes-${this.lecture}`, "popup,width=760,height=560")?.focus();
  }
}
