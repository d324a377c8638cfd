/**
 * Asks the runner of all test files (run.ts) for a server that takes long to start: it starts one of each kind when the
 * first file asks, and all files of the run have it. A file that runs alone starts its own.
 */
import { once } from 'node:events';

/** Where a server is, and what else its clients need. */
export type Place = Readonly<Record<string, string | number>>;

/** Kinds of servers that files of a run share. */
export type SharedKind = 'kafka' | 'mariadb' | 'postgres' | 'rabbitmq';

export interface Asked {
  readonly asksFor: SharedKind;
}

export interface Offered {
  readonly offers: SharedKind;
  /** Missing when this file is to start its own. */
  readonly place?: Place;
}

/** The place of the server that the run shares; undefined when the file has to start its own. */
export async function askRunner(kind: SharedKind): Promise<Place | undefined> {
  if (process.send === undefined) return undefined;
  process.send({ asksFor: kind } satisfies Asked);
  for (;;) {
    const [answer] = (await once(process, 'message')) as [Offered];
    if (answer.offers === kind) return answer.place;
  }
}
