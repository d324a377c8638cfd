/** The codec of a project over messages of a file: hexadecimal digits, a line for each message. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Made, MessageCalls } from '../../../kernels/calls/message-calls.js';
import { HaumeaError } from '../../base/errors.js';
import type { LoadedCode } from '../../plugins/define.js';
import { loadCode } from '../../plugins/index.js';
import type { PluginCodec } from '../../plugins/manifest.js';
import { codecFunction, type Direction } from '../../plugins/wasm/exports/codecs.js';
import { type Call, UsageError } from '../client/command.js';
import { wasmCodeOf } from './code.js';
import { type Project, readOf } from './project.js';

export class CodecTrial {
  readonly #calls = new MessageCalls();

  private constructor(
    private readonly project: Project,
    private readonly codec: PluginCodec,
    private readonly code: LoadedCode,
    private readonly call: Call,
  ) {}

  /** Loads the codec that the project names, or its only one. `folder` is where the module may lie. */
  static async open(project: Project, folder: string, call: Call): Promise<CodecTrial> {
    const { module, test } = project;
    if (module === undefined) throw new UsageError('test.messages needs a module with a codec, not a script');
    const code = wasmCodeOf(project, module, folder);
    const codecs = code.manifest?.codecs ?? [];
    const names = codecs.map(({ name }) => name).join(', ');
    const codec = test.codec === '' && codecs.length === 1 ? codecs[0] : codecs.find(({ name }) => name === test.codec);
    if (codec === undefined) {
      throw new UsageError(`test.codec must name the codec that reads test.messages, there are: ${names || 'none'}`);
    }
    const loaded = await loadCode(code, {
      log: (line) => call.io.err(`wasm plugin ${project.name}: ${line}\n`),
      fault: () => {},
    });
    return new CodecTrial(project, codec, loaded, call);
  }

  /** Reads messages: the JSON of each as a line; what can't be read is told and counted. */
  decode(hex: string): { rows: string; failed: number } {
    const made = this.#run('decode', messagesOf(hex, this.project.test.messages), 'bytes');
    if (made === undefined) throw new UsageError(`codec ${this.codec.name} has no decode`);
    // A line feed is no part of a value.
    const lines = made.flatMap((one) => (one instanceof Uint8Array ? [textOf(one).replace(/[\r\n]/g, ' ')] : []));
    return { rows: lines.map((line) => `${line}\n`).join(''), failed: this.#tellFailures('message', made) };
  }

  /** Writes rows, each by itself, and compares with the file of messages that are expected. Returns the exit code. */
  encode(lines: readonly string[]): number {
    const { encoded } = this.project.test;
    const path = join(this.project.folder, encoded);
    if (this.codec.encode === undefined || !existsSync(path)) return 0;
    const made =
      this.#run(
        'encode',
        lines.map((line) => Buffer.from(line)),
        'text',
      ) ?? [];
    if (this.#tellFailures('row', made) > 0) return 1;
    const is = made.map((one) => (one instanceof Uint8Array ? Buffer.from(one).toString('hex') : 'null'));
    const should = messagesOf(readOf(this.project, encoded).toString(), encoded).map((one) => one.toString('hex'));
    const wrong = Array.from({ length: Math.max(is.length, should.length) }, (_, i) => i).find(
      (i) => is[i] !== should[i],
    );
    if (wrong === undefined) {
      this.call.io.err(`${is.length} messages as in ${encoded}\n`);
      return 0;
    }
    const [one, other] = [is[wrong] ?? 'missing', should[wrong] ?? 'no more'];
    this.call.io.err(`haumea: message ${wrong + 1} is ${one}, ${encoded} has ${other}\n`);
    return 1;
  }

  close(): void {
    this.code.close();
  }

  #run(direction: Direction, messages: readonly Uint8Array[], kind: 'text' | 'bytes'): Made[] | undefined {
    const entry = codecFunction(this.codec, direction)?.name;
    return entry === undefined
      ? undefined
      : this.#calls.run(messages, kind, (columns) => this.code.call(entry, columns));
  }

  #tellFailures(what: string, made: readonly Made[]): number {
    let failed = 0;
    for (const [i, one] of made.entries()) {
      if (one instanceof Uint8Array || one === null) continue;
      this.call.io.err(`haumea: ${what} ${i + 1}: ${one.message}\n`);
      failed++;
    }
    return failed;
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}

/** Blanks may stand between digits; what follows a `#` is for people. */
function messagesOf(text: string, file: string): Buffer[] {
  return text.split('\n').flatMap((line, i) => {
    const digits = (line.split('#', 1)[0] ?? '').replace(/\s/g, '');
    if (digits === '') return [];
    if (/^([0-9a-f]{2})+$/i.test(digits)) return [Buffer.from(digits, 'hex')];
    throw new HaumeaError('general', `${file}: line ${i + 1} is no message: two hexadecimal digits stand for a byte`);
  });
}
