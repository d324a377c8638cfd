/** Interface of commands to the terminal and the process, so that tests run commands in memory. */
import { reasonOf } from '../../base/errors.js';

/** Signals that end a command: Ctrl-C, `kill`, a terminal that is closed. */
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface Io {
  /** Results. */
  out(text: string): void;
  /** Errors, progress, everything that is not the result. */
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly input: NodeJS.ReadableStream;
  /** Whether somebody sits at the keyboard: prompts and progress are shown only then. */
  readonly isInteractive: boolean;
  /** Calls back at Ctrl-C, or when nobody reads the output any more; returns a function that ends this. */
  onInterrupt(call: () => void): () => void;
}

/** Running work that ends early when the user or the reader of the output has enough. */
const running = new Set<() => void>();

function interrupt(): void {
  for (const stop of running) stop();
}

/** A reader that has gone, as `head` does, is no failure; a full disk is one. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  const code = error.code === 'EPIPE' ? 0 : 1;
  if (code !== 0) process.stderr.write(`haumea: the output can't be written: ${reasonOf(error)}\n`);
  if (running.size === 0) process.exit(code);
  process.once('exit', () => {
    process.exitCode = code;
  });
  interrupt();
});

export const processIo: Io = {
  out: (text) => {
    if (process.stdout.writable) process.stdout.write(text);
  },
  err: (text) => void process.stderr.write(text),
  env: process.env,
  input: process.stdin,
  isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
  onInterrupt: (call) => {
    if (running.size === 0) for (const signal of signals) process.on(signal, interrupt);
    running.add(call);
    return () => {
      running.delete(call);
      if (running.size === 0) for (const signal of signals) process.off(signal, interrupt);
    };
  },
};
