/**
 * Lines that a program prints. While the sinks are full its output is not read: it waits in its next print then. A
 * program that ends is started again by the engine, as a lost connection is.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RunningProgram } from '../../base/structures/piped-program.js';
import type { Source, SourceContext } from '../running.js';
import { missingPlugin } from './missing.js';

interface WasmSourceConf {
  readonly args: readonly string[] | undefined;
}

const lineFeed = Uint8Array.of(0x0a);

export class WasmSource implements Source {
  #running: RunningProgram | undefined;
  #isClosed = false;

  constructor(
    readonly conf: WasmSourceConf,
    readonly context: SourceContext,
  ) {}

  async open(): Promise<void> {
    const { program, dataSource } = this.context;
    if (program === undefined) throw missingPlugin(dataSource);
    const running = await program.start({ args: this.conf.args ?? [], hasOutput: true });
    if (this.#isClosed) {
      running.stop();
      return;
    }
    this.context.resetInput();
    this.#running = running;
    void this.#read(running);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#running?.stop();
  }

  async #read(running: RunningProgram): Promise<void> {
    let isLineOpen = false;
    while (!this.#isClosed && (await running.whenOutput())) {
      const bytes = running.read();
      isLineOpen = bytes.at(-1) !== lineFeed[0];
      this.context.write(bytes);
      // Others get their turn behind each piece.
      if (this.context.isFull) await this.context.ready();
      else await nextTurn();
    }
    const { end } = running;
    if (this.#isClosed || end === undefined) return;
    if (isLineOpen && end.isOrderly) this.context.write(lineFeed);
    else if (isLineOpen) this.context.exception(`${end.reason} within a line, which is dropped`);
    this.context.disconnected(end.reason);
  }
}
