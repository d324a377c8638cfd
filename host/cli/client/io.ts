/** What commands see of the terminal and the process, so that tests run them in memory. */

export interface Io {
  /** Results. */
  out(text: string): void;
  /** Errors, progress, everything that is not the result. */
  err(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly input: NodeJS.ReadableStream;
  /** Whether somebody sits at the keyboard: prompts and progress are shown only then. */
  readonly isInteractive: boolean;
  /** Calls when the user presses Ctrl-C; returns how to end that. */
  onInterrupt(call: () => void): () => void;
}

export const processIo: Io = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  env: process.env,
  input: process.stdin,
  isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
  onInterrupt: (call) => {
    process.on('SIGINT', call);
    return () => void process.off('SIGINT', call);
  },
};
