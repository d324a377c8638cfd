/** For sides that come to the engine: an address is there as long as a rule has it. */
import { eventually } from '../../harness.js';
import type { Row, Site } from './site.js';

/** Keeps the address of a sink open, by a rule that sends nothing. */
export async function keepOpen(site: Site, type: string, props: Row): Promise<void> {
  const id = await site.rule(await site.stream('memory', 'keeps/open', {}), { [type]: props });
  await eventually('the address', () => site.isConnected(id, 'sink'));
}
