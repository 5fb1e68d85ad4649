// The button and the key that open the speaker's notes, in a window that the browser lets open because somebody
// asked for it; and the voice of the lecture, which says to such windows what they show. The window's name says whose
// notes it has: several lectures may be open in a browser.

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
    sessionStorage.setItem("bertcalc-lecture", this.lecture); // the page may be loaded again
    this.channel.onmessage = ({ data }) => {
      if (data === "hello") this.say();
      // Keys that are pressed while the window of the notes is in front lead through the lecture, too.
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

  update({ label, said }) {
    this.said = said;
    this.button.replaceChildren(label, element("kbd", { text: "N" }));
    this.say();
  }

  say() {
    this.channel.postMessage({ said: this.said, from: this.lecture });
  }

  open() {
    const address = new URL(window.location.href);
    address.searchParams.set("screen", this.said.name);
    address.searchParams.set("notes", "true");
    window.open(address, `bertcalc-notes-${this.lecture}`, "popup,width=760,height=560")?.focus();
  }
}
