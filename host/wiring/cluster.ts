/** A server as a node of a cluster; loaded with `--cluster` alone. */
import { resolve } from 'node:path';
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log/log.js';
import { missingPackage } from '../base/program/missing-package.js';
import { clusterErrors } from '../cluster/errors.js';
import { placeOf } from '../cluster/files/places.js';
import type { ClusterNode } from '../cluster/node.js';
import { nodeSettings } from '../cluster/settings.js';
import { kinds } from '../meta/kinds.js';
import type { Store } from '../meta/store.js';
import type { Engine } from '../model/engine.js';
import type { RuleRegistry } from '../services/rules/registry.js';
import { holdsSecret } from '../services/secrets/holds.js';
import { whenThere } from './cluster-wait.js';
import type { Definitions } from './definitions.js';
import type { ServerOptions } from './start.js';
import type { StoredServices } from './stored.js';

export type { ClusterNode };

/** Changes of other nodes gather for so long, ms: a definition and its state come one after the other. */
const gatherMs = 20;

const packages = ['@nats-io/transport-node', '@nats-io/jetstream'];

/** Joins the cluster; throws a `config` error that says what is in the way. */
export async function joinCluster(options: ServerOptions, local: Store, log: Logger): Promise<ClusterNode> {
  const { config, folders, note = () => {}, stopped = new Promise(() => {}) } = options;
  const settings = nodeSettings(config);
  const { ClusterNode } = await import('../cluster/node.js').catch((error: unknown) => {
    const missing = missingPackage(error, packages);
    throw missing === undefined ? error : clusterErrors.noPackage(missing, { cause: error });
  });
  const open = () => ClusterNode.open({ settings, local, data: resolve(folders.data), holdsSecret, log });
  return whenThere(open, { config: config.basic, log, note, stopped });
}

export interface Followed {
  readonly definitions: Definitions;
  readonly engine: Engine;
  readonly registry: RuleRegistry;
  readonly installed: Pick<StoredServices, 'portablePlugins' | 'wasmPlugins' | 'externalServices'>;
  readonly log: Logger;
}

/** Has rules and sources follow what other nodes change. */
export function followCluster({ store, files }: ClusterNode, followed: Followed): void {
  const { definitions, engine, registry, log } = followed;
  const { sources } = definitions;
  /** Rules that have changed, with the definition before, where that is another one. */
  const rules = new Map<string, string | null | undefined>();
  /** What rules may need, which is followed before them. */
  let resources = Promise.resolve();
  const followAll = async () => {
    await resources;
    for (const [id, before] of rules) {
      followRule(id, before).catch((error: unknown) => {
        log.error(`rule ${id} could not follow its change at another node: ${reasonOf(error)}`);
      });
    }
    rules.clear();
  };
  const followRule = async (id: string, before: string | null | undefined): Promise<void> => {
    const text = store.get(kinds.rule, id);
    if (text === undefined) return registry.release(id);
    if (before !== undefined && !isSameBesidesTags(before, text)) return registry.adopt(id);
    await registry.change(id, async () => {
      await registry.startable(id, { isOwn: true });
      if (registry.define(registry.stored(id), id).triggered) engine.start(id);
      else await engine.stop(id);
    });
  };
  store.onChange = (kind, key, before) => {
    if (kind === kinds.rule || kind === kinds.ruleState) {
      if (rules.size === 0) setTimeout(() => void followAll(), gatherMs);
      rules.set(key, kind === kinds.rule ? before : rules.get(key));
    } else if (kind === kinds.schema || kind === kinds.service || kind === kinds.plugin) {
      const place = placeOf(kind, key, before);
      const isGone = place !== undefined && place !== placeOf(kind, key, store.get(kind, key) ?? null);
      resources = resources
        .then(() => (isGone ? files.drop(place) : undefined))
        .then(() => followResource(followed.installed, kind, key))
        .catch((error: unknown) => log.error(`${kind} ${key} could not follow its change: ${reasonOf(error)}`));
    } else if (kind === kinds.source) void sources.onChange(key);
    else if (kind === kinds.connection) engine.renewConnection?.(key);
    else if (kind === kinds.confKey) {
      const [owner, connector = '', ...rest] = key.split('.');
      if (owner === 'sources') engine.renew?.(sources.usersOfKey(connector, rest.join('.')));
    }
  };
}

/** Has rules use what another node has installed, and not what it has deleted. */
async function followResource(installed: Followed['installed'], kind: string, key: string): Promise<void> {
  const [part = '', name = ''] = key.split('/');
  if (kind === kinds.service) await installed.externalServices.follow(key);
  else if (kind === kinds.plugin && part === 'portables') await installed.portablePlugins.follow(name);
  else if (kind === kinds.plugin && part === 'wasm') await installed.wasmPlugins.follow(name);
}

function isSameBesidesTags(before: string | null, after: string): boolean {
  if (before === null) return false;
  const [one, other] = [JSON.parse(before), JSON.parse(after)] as [Record<string, unknown>, Record<string, unknown>];
  return JSON.stringify({ ...one, tags: null }) === JSON.stringify({ ...other, tags: null });
}
