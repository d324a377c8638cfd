/** The order in which the sources of a rule begin. */
import type { RunningRule, RunningSource } from './running.js';

/** How long the streams of a rule wait for its tables to be read, ms. */
const maxLoadMs = 5000;

/** Starts tables that are read from files before the streams, whose first rows are to find them complete. */
export function startSources(rule: RunningRule, fresh: readonly RunningSource[]): void {
  const tables = fresh.filter((source) => rule.isTable(source));
  for (const table of tables) table.start();
  const startStreams = () => {
    for (const source of fresh) if (!tables.includes(source)) source.start();
  };
  const loading = tables.filter(({ endsSoon }) => endsSoon).map((table) => table.whenOver());
  if (loading.length === 0) startStreams();
  else {
    const patience = new Promise<void>((resolve) => void setTimeout(resolve, maxLoadMs).unref());
    void Promise.race([Promise.all(loading), patience]).then(startStreams);
  }
}
