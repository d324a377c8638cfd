/** What only some sources need: a log of their input. It is loaded when the first rule has such a source. */
import type { Acknowledgements } from './barrier.js';
import type { InputLog, InputLogHost } from './input-log/input-log.js';
import type { Keepers } from './keepers.js';

let Log: typeof InputLog | undefined;

export async function loadInputLog(): Promise<void> {
  Log ??= (await import('./input-log/input-log.js')).InputLog;
}

/** The source of a log, as far as that is concerned. */
interface LoggedSource extends Omit<InputLogHost, 'logged' | 'requestCheckpoint'> {
  readonly acknowledgements: Acknowledgements | undefined;
  readonly keepers: Keepers;
}

/** A log of input, which is to be loaded before. */
export function inputLog(folder: string, maxMessageBytes: number, source: LoggedSource): InputLog {
  if (Log === undefined) throw new Error('input logs are not loaded');
  return new Log(folder, maxMessageBytes, {
    name: source.name,
    log: source.log,
    users: source.users,
    ready: () => source.ready(),
    whenTaken: () => source.whenTaken(),
    replay: (bytes) => source.replay(bytes),
    logged: () => source.acknowledgements?.advance(),
    requestCheckpoint: () => source.keepers.request(),
  });
}
