/** Renders messages by a template, then picks columns from what comes out. */
import type { OutputChunk } from '../../../kernels/api.js';
import { RowWriter } from '../../../kernels/values/row-writer.js';
import { reasonOf } from '../../base/errors.js';
import { readExactJson } from '../../base/text/exact-json.js';
import { compileTemplate, type Template } from '../../template/compile.js';
import { Budget, type Dict, isDict, member, readJson, setMember, toJson, type Value } from '../../template/value.js';
import { ChunkWriter } from '../chunk-writer.js';
import type { EncodeContext, Encoder, Unmade } from '../define.js';

/** Work and characters that writing one message may take. */
const maxUnits = 10_000_000;
const maxText = 16 << 20;

export class TemplateEncoder implements Encoder {
  readonly #template: Template;
  readonly #select: ((value: Value) => Value) | undefined;
  /** Writes rows for sinks that take them. */
  readonly #rows: RowWriter | undefined;

  /** Throws a `plan` error for a template that is not right. */
  constructor(
    template: string,
    props: Readonly<Record<string, unknown>>,
    readonly context: EncodeContext,
  ) {
    this.#template = compileTemplate(template);
    this.#select = selection(props);
    if (context.takesRows === true) this.#rows = new RowWriter();
  }

  encode(chunk: OutputChunk, failed: Unmade): OutputChunk {
    const out = new ChunkWriter(this.context.framing);
    let from = 0;
    for (const [place, end] of (chunk.ends ?? []).entries()) {
      const message = Buffer.from(chunk.bytes.buffer, chunk.bytes.byteOffset + from, end - from);
      // No template sees the text of an error.
      if (chunk.errors.has(place)) this.#addError(message.toString(), out);
      else if (this.context.isBatch) this.#renderBatch(message, out, failed);
      else {
        const made = this.#try(
          () => this.#messageOf(this.#render(readJson(message.toString()))),
          out,
          (reason) => failed(reason, message),
        );
        if (made !== undefined) out.add(made);
      }
      from = end;
    }
    return out.chunkOf(chunk);
  }

  /** The messages of a batch, each rendered: a list if all are JSON objects or lists, otherwise a line for each. */
  #renderBatch(message: Buffer, out: ChunkWriter, failed: Unmade): void {
    const items = readJson(message.toString()) as Value[];
    const texts = items
      .map((item) =>
        this.#try(
          () => this.#render(item),
          out,
          (reason) => failed(reason, Buffer.from(toJson(item, new Budget(maxUnits, maxText)))),
        ),
      )
      .filter((text) => text !== undefined);
    if (texts.length === 0) return;
    const all = texts.every(isStructure) ? `[${texts.join(',')}]` : texts.join('\n');
    const made = this.#try(
      () => this.#messageOf(all),
      out,
      (reason) => failed(reason, message),
    );
    if (made !== undefined) out.add(made);
  }

  /** A rendered text as the sink takes it. Throws for one without rows where the sink wants these. */
  #messageOf(text: string): Buffer {
    return this.#rows === undefined ? Buffer.from(text) : rowMessage(this.#rows, rowsIn(text));
  }

  #addError(text: string, out: ChunkWriter): void {
    out.add(this.#rows === undefined ? Buffer.from(text) : rowMessage(this.#rows, { error: text }), true);
  }

  #render(data: Value): string {
    const text = this.#template.renderValue(data);
    if (this.#select === undefined) return text;
    return toJson(this.#select(readJson(text)), new Budget(maxUnits, maxText));
  }

  /** The text, or undefined when it fails; its reason is sent if errors are. */
  #try<T>(render: () => T, out: ChunkWriter, failed: (reason: string) => void): T | undefined {
    try {
      return render();
    } catch (error) {
      const reason = `${this.context.sink}: dataTemplate: ${reasonOf(error)}`;
      failed(reason);
      if (this.context.sendError) this.#addError(reason, out);
      return undefined;
    }
  }
}

/** The row, or the list of rows, that a text of JSON has; members in the order in which the kernel writes them. */
function rowsIn(text: string): unknown {
  let rows: unknown;
  try {
    rows = readExactJson(text);
  } catch {
    rows = undefined;
  }
  const all = Array.isArray(rows) ? rows.flat() : [rows];
  const sorted = all.map((row: unknown) => {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) {
      throw new Error('what comes out must be an object of JSON, or a list of such objects');
    }
    const members = Object.entries(row);
    return Object.fromEntries(members.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
  });
  return Array.isArray(rows) ? sorted : sorted[0];
}

/** A message in the engine's own form, of a row or of a list of rows. */
function rowMessage(writer: RowWriter, rows: unknown): Buffer {
  writer.clear();
  writer.value(rows);
  return Buffer.from(writer.bytes);
}

/** True for the text of a JSON object or list. */
function isStructure(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The properties that pick from the rendered JSON: `dataField` first, then `fields` or `excludeFields`. */
function selection(props: Readonly<Record<string, unknown>>): ((value: Value) => Value) | undefined {
  const dataField = props.dataField || props.tableDataField;
  const fields = names(props.fields);
  const excluded = names(props.excludeFields);
  if (!dataField && fields.length === 0 && excluded.length === 0) return undefined;
  const columns = (row: Value): Value => {
    if (!isDict(row)) throw new Error('fields can be taken from objects only');
    const picked: Dict = {};
    const taken = fields.length > 0 ? fields : Object.keys(row).filter((name) => !excluded.includes(name));
    for (const name of taken) setMember(picked, name, member(row, name) ?? null);
    return picked;
  };
  return (rendered) => {
    let value = rendered;
    if (dataField) {
      const row = Array.isArray(value) ? value[0] : value;
      value = isDict(row) ? (member(row, String(dataField)) ?? null) : null;
    }
    if (fields.length + excluded.length > 0) value = Array.isArray(value) ? value.map(columns) : columns(value);
    return value;
  };
}

function names(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
