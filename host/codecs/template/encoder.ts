/** Renders messages by a template, then picks columns from what comes out. */
import type { OutputChunk } from '../../../kernels/api.js';
import { reasonOf } from '../../base/errors.js';
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

  /** Throws a `plan` error for a template that is not right. */
  constructor(
    template: string,
    props: Readonly<Record<string, unknown>>,
    readonly context: EncodeContext,
  ) {
    this.#template = compileTemplate(template);
    this.#select = selection(props);
  }

  encode(chunk: OutputChunk, failed: Unmade): OutputChunk {
    const out = new ChunkWriter(this.context.framing);
    let from = 0;
    for (const [place, end] of (chunk.ends ?? []).entries()) {
      const message = Buffer.from(chunk.bytes.buffer, chunk.bytes.byteOffset + from, end - from);
      // No template sees the text of an error.
      if (chunk.errors.has(place)) out.add(Buffer.from(message), true);
      else if (this.context.isBatch) this.#renderBatch(message, out, failed);
      else {
        const text = this.#try(
          () => this.#render(readJson(message.toString())),
          out,
          (reason) => failed(reason, message),
        );
        if (text !== undefined) out.add(Buffer.from(text));
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
    out.add(Buffer.from(texts.every(isStructure) ? `[${texts.join(',')}]` : texts.join('\n')));
  }

  #render(data: Value): string {
    const text = this.#template.renderValue(data);
    if (this.#select === undefined) return text;
    return toJson(this.#select(readJson(text)), new Budget(maxUnits, maxText));
  }

  /** The text, or undefined when it fails; its reason is sent if errors are. */
  #try(render: () => string, out: ChunkWriter, failed: (reason: string) => void): string | undefined {
    try {
      return render();
    } catch (error) {
      const reason = `${this.context.sink}: dataTemplate: ${reasonOf(error)}`;
      failed(reason);
      if (this.context.sendError) out.add(Buffer.from(reason), true);
      return undefined;
    }
  }
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
