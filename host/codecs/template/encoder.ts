/** Renders messages by a template, then picks columns from what comes out. */
import type { OutputChunk } from '../../../kernels/api.js';
import { reasonOf } from '../../base/errors.js';
import { compileTemplate, type Template } from '../../template/compile.js';
import { ChunkWriter } from '../chunk-writer.js';
import type { EncodeContext, Encoder } from '../define.js';

export class TemplateEncoder implements Encoder {
  readonly #template: Template;
  readonly #select: ((json: string) => string) | undefined;

  /** Throws a `plan` error for a template that is not right. */
  constructor(
    template: string,
    props: Readonly<Record<string, unknown>>,
    readonly context: EncodeContext,
  ) {
    this.#template = compileTemplate(template);
    this.#select = selection(props);
  }

  encode(chunk: OutputChunk, failed: (reason: string) => void): OutputChunk {
    const out = new ChunkWriter(this.context.framing);
    let from = 0;
    for (const [place, end] of (chunk.ends ?? []).entries()) {
      const message = chunk.bytes.subarray(from, end);
      // No template sees the text of an error.
      if (chunk.errors.has(place)) out.add(Buffer.from(message), true);
      else this.#render(message, out, failed);
      from = end;
    }
    return out.chunkOf(chunk);
  }

  #render(message: Uint8Array, out: ChunkWriter, failed: (reason: string) => void): void {
    try {
      const text = this.#template.render(Buffer.from(message.buffer, message.byteOffset, message.length).toString());
      out.add(Buffer.from(this.#select === undefined ? text : this.#select(text)));
    } catch (error) {
      const reason = `${this.context.sink}: dataTemplate: ${reasonOf(error)}`;
      failed(reason);
      if (this.context.sendError) out.add(Buffer.from(reason), true);
    }
  }
}

type Row = Record<string, unknown>;

/** The properties that pick from the rendered JSON: `dataField` first, then `fields` or `excludeFields`. */
function selection(props: Readonly<Record<string, unknown>>): ((json: string) => string) | undefined {
  const dataField = props.dataField || props.tableDataField;
  const fields = names(props.fields);
  const excluded = names(props.excludeFields);
  if (!dataField && fields.length === 0 && excluded.length === 0) return undefined;
  const columns = (row: unknown): Row => {
    if (!isRow(row)) throw new Error('fields can be taken from objects only');
    if (fields.length > 0) return Object.fromEntries(fields.map((name) => [name, member(row, name) ?? null]));
    return Object.fromEntries(Object.entries(row).filter(([name]) => !excluded.includes(name)));
  };
  return (json) => {
    let value: unknown = JSON.parse(json);
    if (dataField) {
      const row: unknown = Array.isArray(value) ? value[0] : value;
      value = isRow(row) ? (member(row, String(dataField)) ?? null) : null;
    }
    if (fields.length + excluded.length > 0) value = Array.isArray(value) ? value.map(columns) : columns(value);
    return JSON.stringify(value);
  };
}

function names(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function member(row: Row, name: string): unknown {
  return Object.hasOwn(row, name) ? row[name] : undefined;
}
