// Lets the reader choose files of any size. The browser sends only their names, their sizes and their compressed first
// bytes; the server checks everything.

const LENGTH_BYTES = 8n; // a safetensors file begins with the length of its header, as a little-endian integer
const PATIENCE = 5000; // ms after which an unanswered message is sent again, because Streamlit may drop messages
const CAN_DROP = matchMedia("(hover: hover)"); // a touch screen has no files to drop
const choosers = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let chooser = choosers.get(parentElement);
  if (!chooser) choosers.set(parentElement, (chooser = new Chooser(parentElement)));
  chooser.send = (message) => setTriggerValue("files", message);
  chooser.update(data);
  return () => chooser.close();
}

class Chooser {
  constructor(parent) {
    this.input = element("input", { type: "file", hidden: "" });
    this.button = element("button", { type: "button" });
    this.hint = element("span", { "aria-live": "polite" });
    this.root = element("div", { class: "chooser", children: [this.button, this.hint, this.input] });
    parent.append(this.root);
    this.button.onclick = () => this.input.click();
    this.input.onchange = () => {
      this.take([...this.input.files]);
      this.input.value = ""; // lets the reader choose the same file again
    };
    this.root.ondragover = (event) => this.over(event, true);
    this.root.ondragleave = (event) => this.over(event, false);
    this.root.ondrop = (event) => {
      this.over(event, false);
      this.take([...event.dataTransfer.files].slice(0, this.data.several ? undefined : 1));
    };
  }

  close() {
    clearTimeout(this.timer);
  }

  over(event, over) {
    event.preventDefault();
    this.root.classList.toggle("over", over);
  }

  update(data) {
    this.data = data;
    this.input.accept = data.accept;
    this.input.multiple = data.several;
    this.button.textContent = data.choose;
    if (this.open && data.taken >= this.open.number) this.open = undefined;
    this.hint.textContent = this.open ? data.reading : CAN_DROP.matches ? data.drop : "";
  }

  async take(files) {
    if (!files.length) return;
    this.hint.textContent = this.data.reading;
    const sent = [];
    let [left, room] = [this.data.header, this.data.room];
    for (const file of files.slice(0, this.data.most + 1)) {
      const start = await this.start(file, left).catch(() => null); // fails for a folder or a deleted file
      left -= start?.size ?? 0;
      let gzip = start && (await compressed(start));
      // If a header is too large, send only its length. The server then reports the limit.
      if (gzip?.length > room) gzip = await compressed(start.slice(0, Number(LENGTH_BYTES)));
      room -= gzip?.length ?? 0;
      sent.push({ name: file.name, size: file.size, gzip });
    }
    this.open = { number: this.data.taken + 1, files: sent };
    this.ask();
  }

  ask() {
    if (!this.open) return;
    this.send(this.open);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), PATIENCE);
  }

  // The bytes of a file that the server needs. If a header is too long, these are only the bytes with its length.
  async start(file, left) {
    if (file.name.endsWith(".safetensors")) {
      const length = file.slice(0, Number(LENGTH_BYTES));
      const bytes = await length.arrayBuffer();
      if (bytes.byteLength < LENGTH_BYTES) return length;
      const end = LENGTH_BYTES + new DataView(bytes).getBigUint64(0, true);
      return end <= file.size && end <= BigInt(left) + LENGTH_BYTES ? file.slice(0, Number(end)) : length;
    }
    return file.slice(0, file.name.endsWith(this.data.whole) && file.size <= this.data.largest ? file.size : 0);
  }
}

// Compress with gzip and encode as Base64. Headers compress well, because they repeat names, and the server refuses
// large messages.
async function compressed(blob) {
  const stream = blob.stream().pipeThrough(new CompressionStream("gzip"));
  return base64(await new Response(stream).blob());
}

function base64(blob) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(blob);
  });
}
