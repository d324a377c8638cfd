/** Programs of a plugin at work, each in a thread of its own. */
import type { PipedProgram, ProgramOptions } from '../../../base/structures/piped-program.js';
import type { CodeHost, CommandCode, LoadedCode } from '../../define.js';
import { CommandThread } from './thread.js';

export class LoadedCommand implements LoadedCode {
  readonly program: PipedProgram;
  readonly #running = new Set<CommandThread>();

  constructor(
    private readonly code: CommandCode,
    private readonly host: CodeHost,
  ) {
    const title = `wasm plugin ${code.name}`;
    this.program = { title, start: (options) => this.#start(options) };
  }

  call(): never {
    throw new Error(`wasm plugin ${this.code.name} is a program: it has no functions`);
  }

  /** Ends all of them: the plugin was replaced or deleted, or nobody uses it. Those that read get time for it. */
  close(): void {
    for (const thread of this.#running) thread.retire('the plugin was replaced or deleted');
  }

  async #start(options: ProgramOptions): Promise<CommandThread> {
    const thread = new CommandThread(this.code, options, {
      log: (line) => this.host.log(line),
      holds: () => this.#holds(),
      over: () => {
        this.#running.delete(thread);
        this.#holds();
      },
    });
    this.#running.add(thread);
    await thread.loaded;
    return thread;
  }

  /** Counts the memory of all threads; returns a reason when that has no room. */
  #holds(): string | undefined {
    let bytes = 0;
    for (const thread of this.#running) bytes += thread.memoryBytes;
    return this.host.memory?.holds(bytes);
  }
}
