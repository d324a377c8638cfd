/** Renders the messages of a sink by its `dataTemplate`, then picks columns from what comes out. */
import type { OutputChunk } from '../../kernels/api.js';
import { reasonOf } from '../base/errors.js';
import { compileTemplate, type Template } from '../codecs/template/index.js';
import type { SinkChunk } from '../connectors/define.js';
import { sinkForm } from '../connectors/index.js';
import type { SinkSpec } from './protocol.js';

const openBrace = 0x7b;
const openBracket = 0x5b;
const lineFeed = Buffer.from('\n');

export class SinkTransform {
  readonly #template: Template;
  readonly #select: ((json: string) => string) | undefined;
  readonly #asLines: boolean;

  private constructor(
    readonly spec: SinkSpec,
    template: string,
    /** Errors go out in the place of the messages. */
    readonly sendError: boolean,
  ) {
    this.#template = compileTemplate(template);
    this.#select = selection(spec.props);
    this.#asLines = sinkForm(spec.type, spec.props).framing === 'lines';
  }

  /** Returns the transformation a sink asks for; throws a `plan` error for a template that is not right. */
  static of(spec: SinkSpec, sendError: boolean): SinkTransform | undefined {
    const { dataTemplate } = spec.props;
    if (typeof dataTemplate !== 'string' || dataTemplate === '') return undefined;
    return new SinkTransform(spec, dataTemplate, sendError);
  }

  /** Makes the chunk that the sink gets; `failed` is called for each message that could not be rendered. */
  apply(chunk: OutputChunk, failed: (reason: string) => void): SinkChunk {
    const { bytes, ends } = chunk;
    const parts: Buffer[] = [];
    const newEnds: number[] = [];
    const errors = new Set<number>();
    let from = 0;
    let length = 0;
    for (const end of ends ?? []) {
      const rendered = this.#one(bytes.subarray(from, end), failed);
      from = end;
      if (rendered === undefined) continue;
      const { text, isError } = rendered;
      if (isError) errors.add(newEnds.length);
      parts.push(text);
      length += text.length;
      newEnds.push(length);
      if (this.#asLines) {
        parts.push(lineFeed);
        length++;
      }
    }
    return {
      ...chunk,
      bytes: Buffer.concat(parts),
      ends: this.#asLines ? null : Uint32Array.from(newEnds),
      messages: newEnds.length,
      errors,
    };
  }

  #one(message: Uint8Array, failed: (reason: string) => void): Rendered | undefined {
    // Results are objects and lists; everything else is the text of an error, which no template sees.
    if (message[0] !== openBrace && message[0] !== openBracket) return { text: Buffer.from(message), isError: true };
    try {
      const text = this.#template.render(Buffer.from(message.buffer, message.byteOffset, message.length).toString());
      return { text: Buffer.from(this.#select === undefined ? text : this.#select(text)), isError: false };
    } catch (error) {
      const reason = `sink ${this.spec.type}: dataTemplate: ${reasonOf(error)}`;
      failed(reason);
      return this.sendError ? { text: Buffer.from(reason), isError: true } : undefined;
    }
  }
}

interface Rendered {
  readonly text: Buffer;
  readonly isError: boolean;
}

type Row = Record<string, unknown>;

/** The properties that pick from the rendered JSON: `dataField` first, then `fields` or `excludeFields`. */
function selection(props: Record<string, unknown>): ((json: string) => string) | undefined {
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
