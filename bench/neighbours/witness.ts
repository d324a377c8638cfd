/**
 * A plain client that reads the same messages from the broker as the engine, as a process of its own: what it loses
 * nobody on this machine could have kept.
 *
 *   → { order: 'watch', url, topic }  ← { event: 'done' }
 *   → { order: 'count', sent }        ← { event: 'counts', … }
 */
import mqtt from 'mqtt';
import { FIRST_ID } from '../messages/frames.js';
import { Counter, idIn } from './count.js';

/** Runs the witness until the parent goes away. */
export function runWitness(): void {
  const counter = new Counter();
  const watch = async (url: string, topic: string) => {
    const client = await mqtt.connectAsync(url);
    client.on('message', (_topic, payload) => counter.take(idIn(payload, 0, payload.length) - FIRST_ID));
    await client.subscribeAsync(topic, { qos: 1 });
    process.send!({ event: 'done' });
  };
  process.on('disconnect', () => process.exit(0));
  process.on('message', ({ order, url, topic, sent }: { order: string; url: string; topic: string; sent: number }) => {
    if (order === 'count') process.send!({ event: 'counts', ...counter.of(sent) });
    else void watch(url, topic);
  });
}
