/** Opens what a log has on disk: one log at a time has its folder, and a disk that does not give it is asked again. */
import { reasonOf } from '../../../../base/errors.js';
import { PageStore } from '../../queue/page-store.js';
import type { InputLogHost } from './log-host.js';
import type { OutMark } from './out-mark.js';

const retryMs = 1000;

/** Logs that are open, until they are closed. */
const open = new Map<string, Promise<void>>();

export interface OpenedLog {
  /** Undefined when the log was closed before. */
  readonly store: PageStore | undefined;
  /** Another log may have the folder. */
  release(): void;
}

/** The log that is being opened. */
interface Opening {
  readonly folder: string;
  readonly host: Pick<InputLogHost, 'name' | 'log' | 'known' | 'isShared'>;
  readonly out: OutMark;
  isClosed(): boolean;
  /** Fault of the log; empty without one. */
  note(reason: string): void;
}

export async function openLog(opening: Opening): Promise<OpenedLog> {
  const { folder, host, out } = opening;
  // The source of an earlier run may still be at its end.
  for (let other = open.get(folder); other !== undefined; other = open.get(folder)) await other;
  if (opening.isClosed()) return { store: undefined, release: () => {} };
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = () => {
      open.delete(folder);
      resolve();
    };
  });
  open.set(folder, released);
  while (!opening.isClosed()) {
    try {
      const store = await openStore(folder, host);
      await out.read();
      if (store.cutOff !== '') host.log.warn(store.cutOff);
      opening.note('');
      return { store, release };
    } catch (error) {
      opening.note(`can't be opened: ${reasonOf(error)}`);
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
  return { store: undefined, release };
}

async function openStore(folder: string, { name, log, known, isShared }: Opening['host']): Promise<PageStore> {
  if (known === undefined) return PageStore.open(folder, { isSynced: true, keepsNumbers: isShared });
  const store = await PageStore.open(folder, { isSynced: true, keepsOut: true, keepsNumbers: isShared });
  try {
    await store.readAll((batch) => known.recover(batch));
  } catch (error) {
    // The replay reads its part again, and reports a fault itself.
    log.warn(`stream ${name} may get messages twice: its input log can't be read: ${reasonOf(error)}`);
    store.rewind();
  }
  known.at(store.stored);
  return store;
}
