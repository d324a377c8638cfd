/**
 * Dead letters of a sink: messages that can't go out go to another sink of the rule, each in an object with the reason.
 * Those of one turn of the event loop go together.
 */
import { isUtf8 } from 'node:buffer';
import type { OutputChunk } from '../../../../../kernels/api.js';
import type { OutputPlan } from '../../../../../kernels/plan/ir.js';
import { RowWriter } from '../../../../../kernels/values/row-writer.js';
import { ChunkWriter } from '../../../../codecs/chunk-writer.js';
import type { SinkForm } from '../../../../connectors/define.js';
import { jsonOfRows } from './rows-json.js';

/** The sink of the letters. */
export interface LetterSink {
  readonly letterForm: LetterForm;
  write(chunk: OutputChunk, now: number): void;
  /** Calls when all that was written so far is out or in its queue. */
  whenSafe(call: () => void): void;
}

interface LetterForm extends Pick<SinkForm, 'takes' | 'framing'> {
  /** Properties of the sink are templates over the letter. */
  readonly hasTemplates: boolean;
}

/** Templates read JSON: other letters have it as a head before them. */
function hasHeads({ takes, hasTemplates }: LetterForm): boolean {
  return takes === 'rows' && hasTemplates;
}

/** A message that can't go out. */
interface Letter {
  readonly rule: string;
  /** Operator of the sink as the status of the rule names it. */
  readonly sink: string;
  readonly reason: string;
  /** Epoch ms. */
  readonly time: number;
  /** The message, in base64 where it is no text. */
  readonly message: string;
  readonly encoding?: 'base64';
}

/** Output of the kernel for sinks of letters: it writes none, but they are made as if it did. */
export function letterOutput(form: LetterForm): OutputPlan {
  const { takes, framing } = form;
  return {
    shape: { kind: 'object', operand: noOperand },
    ...(hasHeads(form) ? { head: noOperand } : {}),
    format: takes === 'rows' ? 'rows' : 'json',
    framing,
    sendSingle: true,
    sendNil: true,
    omitIfEmpty: false,
    sendError: false,
    batchSize: 0,
    lingerMs: 0,
  };
}

export class DeadLetters {
  #letters: Letter[] = [];
  #safe: (() => void)[] = [];

  constructor(
    private readonly rule: string,
    private readonly sink: string,
    private readonly to: LetterSink,
    /** The sink gets rows in the engine's own form: letters have them as JSON. */
    private readonly isOfRows = false,
  ) {}

  /** Sends a message, which is copied; `safe` is called when its letter is out or in the queue of the letters. */
  send(message: Uint8Array, reason: string, safe: () => void): void {
    const given = Buffer.from(message.buffer, message.byteOffset, message.length);
    const json = this.isOfRows ? jsonOfRows(given) : undefined;
    const bytes = json === undefined ? given : Buffer.from(json);
    const isText = isUtf8(bytes);
    this.#letters.push({
      rule: this.rule,
      sink: this.sink,
      reason,
      time: Date.now(),
      message: bytes.toString(isText ? 'utf8' : 'base64'),
      ...(isText ? {} : { encoding: 'base64' }),
    });
    this.#safe.push(safe);
    if (this.#letters.length === 1) queueMicrotask(() => this.#write());
  }

  #write(): void {
    const letters = this.#letters;
    const safe = this.#safe;
    this.#letters = [];
    this.#safe = [];
    const { takes, framing, hasTemplates } = this.to.letterForm;
    const writer = new ChunkWriter(takes === 'rows' || hasTemplates ? 'messages' : framing);
    for (const letter of letters) {
      if (takes !== 'rows' || hasTemplates) writer.add(Buffer.from(JSON.stringify(letter)));
      if (takes === 'rows') writer.add(rowOf(letter));
    }
    const count = letters.length;
    const made = { node: 0, host: 0, bytes: Buffer.alloc(0), ends: null, errors: none, messages: count, rows: count };
    this.to.write(writer.chunkOf(made), Date.now());
    this.to.whenSafe(() => {
      for (const call of safe) call();
    });
  }
}

/** A letter as a row in the engine's own form. */
function rowOf(letter: Letter): Buffer {
  const row = new RowWriter();
  row.value({ ...letter, time: BigInt(letter.time) });
  return row.bytes;
}

const noOperand = 0xffff;
const none: ReadonlySet<number> = new Set();
