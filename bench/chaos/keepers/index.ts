/** Systems behind the engine that chaos starts and kills, by name. */
import type { Keeper } from './keeper.js';

export const keeperNames = ['kafka', 'nats', 'rabbitmq', 'redisStream', 'sql', 'rest'] as const;
export type KeeperName = (typeof keeperNames)[number];

/** Starts the system of the name; throws when it is not installed. */
export async function openKeeper(name: KeeperName): Promise<Keeper> {
  return (await loaders[name]()).open();
}

const loaders: Record<KeeperName, () => Promise<{ open(): Promise<Keeper> }>> = {
  kafka: () => import('./kafka.js'),
  nats: () => import('./nats.js'),
  rabbitmq: () => import('./rabbitmq.js'),
  redisStream: () => import('./redis-stream.js'),
  sql: () => import('./sql.js'),
  rest: () => import('./rest.js'),
};
