/**
 * Connections that come with the installation: `connections/connection.yaml` of the etc folder, `{ type: { id: props }
 * }`, with variables such as `CONNECTION__MQTT__LOCAL__SERVER` over it. They are created when the server starts; one
 * that is there stays as it is, so that changes made by clients hold. `xoperation: delete` removes one.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { keysFromEnvironment, readYaml } from '../../base/config/config.js';
import type { HaumeaError } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { storedErrors } from '../errors.js';
import { checkId } from '../ids.js';
import { overlay } from './default-keys.js';
import type { RecordRepository } from './records.js';

interface ConnectionRecord {
  readonly typ: string;
  readonly props: Readonly<Record<string, unknown>>;
}

type Tree = Readonly<Record<string, unknown>>;

/** Member of a connection that says what is to be done; `create` without it. */
const operation = 'xoperation';

export interface Provision {
  readonly connections: RecordRepository<ConnectionRecord>;
  readonly etc: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Logger;
}

/** Creates and removes connections as the file and the environment say; throws a `config` error naming a wrong one. */
export async function provideConnections({ connections, etc, env, log }: Provision): Promise<void> {
  const file = join(etc, 'connections', 'connection.yaml');
  const given = existsSync(file) ? await readYaml(file) : {};
  for (const [typ, id, props] of merged(given, keysFromEnvironment('CONNECTION', env), file)) {
    const { [operation]: wanted = 'create', ...own } = props;
    if (wanted !== 'create' && wanted !== 'delete') {
      throw wrong(file, `${typ}.${id}.${operation}`, 'must be create or delete');
    }
    if (connections.has(id) === (wanted === 'create')) continue;
    if (wanted === 'create') await connections.put(id, { typ, props: own });
    else await connections.delete(id);
    log.info(`connection ${id} was ${wanted}d as the configuration says`, { typ });
  }
}

/** Lays the variables, whose names have lost their letter case, over the file. */
function merged(file: Tree, env: Tree, path: string): [typ: string, id: string, props: Tree][] {
  const types: Record<string, unknown> = { ...file };
  for (const [typ, byId] of Object.entries(env)) {
    const name = Object.keys(types).find((known) => known.toLowerCase() === typ) ?? typ;
    const ids = treeOf(types[name] ?? {}, path, name);
    const changed = Object.entries(treeOf(byId, 'environment', typ)).map(([id, props]): [string, Tree] => {
      const known = Object.keys(ids).find((one) => one.toLowerCase() === id) ?? id;
      return [known, overlay(treeOf(ids[known] ?? {}, path, `${name}.${known}`), treeOf(props, 'environment', id))];
    });
    types[name] = { ...ids, ...Object.fromEntries(changed) };
  }
  return Object.entries(types).flatMap(([typ, ids]) =>
    Object.entries(treeOf(ids ?? {}, path, typ)).map(([id, props]): [string, string, Tree] => {
      try {
        checkId(id);
      } catch (error) {
        throw wrong(path, `${typ}.${id}`, error instanceof Error ? error.message : String(error));
      }
      return [typ, id, treeOf(props ?? {}, path, `${typ}.${id}`)];
    }),
  );
}

function treeOf(value: unknown, where: string, name: string): Tree {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Tree;
  throw wrong(where, name, 'must be a mapping');
}

function wrong(where: string, name: string, reason: string): HaumeaError {
  return storedErrors.provided(where, name, reason);
}
