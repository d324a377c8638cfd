/** Access of connectors to this machine, for those who write their properties: files and secrets. */
import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadedConfig } from '../../base/config/config.js';
import { HaumeaError } from '../../base/errors.js';
import { AllowedPaths, kindReason } from '../../base/files/allowed-paths.js';
import { mainLogFile } from '../../base/log/log.js';
import type { NamedFiles } from '../../connectors/define.js';
import { sourceKeys } from '../../connectors/index.js';
import type { Access } from '../../model/engine.js';
import { marksFolder } from '../link/folder-names.js';
import { propErrors } from './errors.js';

/** For an engine without a server around it: any file, and secrets of the default variables. */
export const freeAccess: Access = {
  paths: AllowedPaths.any(),
  logs: AllowedPaths.any(),
  secrets: { variables: ['HAUMEA_SECRET_*'], folders: [] },
};

/** File of definitions in the data folder, when the configuration names no other. */
export const defaultStoreFile = 'sqliteKV.db';
/** File in the data folder that tells that a server uses it. */
export const lockFileName = 'haumea.lock';
/** Folder of the state of rules in the data folder. */
export const checkpointFolder = 'checkpoints';
/** Folder in the data folder for messages that brokers have their acknowledgements for. */
export const inputLogFolder = 'input-logs';
/** Folder in the data folder for what rules that are gone have left in sinks with transactions. */
export const transactionFolder = 'transactions';
/** Folder in the data folder for messages that wait for sinks. */
export const sinkCacheFolder = 'sink-cache';
/** Folder of secret files in the data folder. */
const secretFolder = 'secrets';
/**
 * Folders in the data folder with what was stored by requests of its own: a rule that wrote there would replace it
 * unseen.
 */
const resourceFolders = ['uploads', 'schemas', 'services', 'plugins', 'scripts', 'metrics'];

/** Files and folders of the folder `etc`. */
const keyFiles = [...sourceKeys().values()].flatMap(({ keysName }) =>
  keysName === undefined ? [] : [`${keysName}.yaml`],
);
const ofEtc = ['mgmt', 'kuiper.yaml', ...keyFiles, 'sources', 'sinks', 'connections'];

/** Access that the configuration allows. */
export function accessOf({ config, folders }: LoadedConfig): Access {
  const { data, etc, log } = folders;
  const { allowedPaths, allowExternalFileAccess, secrets, aesKey } = config.basic;
  const secretFolders = [join(data, secretFolder), ...secrets.folders];
  const store = join(data, config.store.sqlite.name || defaultStoreFile);
  // The folder of keys and that of logs may be the data folder itself: then what is in them by name.
  const apart = (folder: string, ...files: string[]) =>
    `${data}/`.startsWith(`${folder}/`) ? files.map((file) => join(folder, file)) : [folder];
  const readOnly = resourceFolders.map((name) => join(data, name));
  const ofData = [
    `${store}*`,
    `${join(data, lockFileName)}*`,
    join(data, checkpointFolder),
    join(data, marksFolder),
    join(data, inputLogFolder),
    join(data, transactionFolder),
    join(data, sinkCacheFolder),
  ];
  const own = [...ofData, ...apart(etc, 'mgmt', 'kuiper.yaml'), ...apart(log, `${mainLogFile}*`), ...secretFolders];
  return {
    paths: new AllowedPaths({ base: data, folders: allowedPaths, own, readOnly, isOpen: allowExternalFileAccess }),
    logs: new AllowedPaths({
      base: log,
      folders: [],
      own: [...ofData, ...ofEtc.map((name) => join(etc, name)), ...secretFolders],
      readOnly,
      isOpen: true,
    }),
    secrets: { variables: secrets.variables, folders: secretFolders },
    aesKey,
  };
}

/** Throws a `config` error when the log of a rule would be one of the server's files: they may share a folder. */
export function checkLogFile(id: string, logFilename: string, { logs }: Access): void {
  if (logFilename === '') return;
  try {
    logs.check(logFilename, 'write');
  } catch (error) {
    throw propErrors.logFile(id, logFilename, { cause: error });
  }
}

/** Properties with the paths in them absolute, the same object when there are none; throws as `checkFiles`. */
export function withFiles<T extends Readonly<Record<string, unknown>>>(
  props: T,
  files: NamedFiles | undefined,
  access: Access,
  where: string,
): T {
  const checked = checkFiles(files, access, where);
  const own = Object.entries(checked).filter(([name]) => !name.includes('.'));
  return own.length === 0 ? props : { ...props, ...Object.fromEntries(own) };
}

/**
 * Checks the paths that properties name; throws a `config` error that names the property. Returns them absolute, those
 * that are set.
 */
export function checkFiles(files: NamedFiles | undefined, { paths }: Access, where: string): Record<string, string> {
  const given = Object.entries(files ?? {}).map(([name, file]) =>
    typeof file === 'string' ? ([name, file, 'read'] as const) : ([name, file.written, 'write'] as const),
  );
  return Object.fromEntries(
    given.flatMap(([name, path, use]) => {
      try {
        return path === '' ? [] : [[name, paths.check(path, use)]];
      } catch (error) {
        if (!(error instanceof HaumeaError)) throw error;
        throw propErrors.property(where, name, error.message, { cause: error });
      }
    }),
  );
}

/**
 * Checks the paths as `checkFiles` does; throws a `config` error that names the property, too, when what has the path
 * now can't be written to as a file.
 */
export function checkWritten(files: NamedFiles | undefined, access: Access, where: string): void {
  for (const [name, path] of Object.entries(checkFiles(files, access, where))) {
    const file = files![name]!;
    if (typeof file !== 'string' && file.isNoFile) continue;
    const info = infoOf(path);
    const reason = info && kindReason(info, 'append');
    if (reason !== undefined) throw propErrors.property(where, name, `${path} ${reason}`);
  }
}

/** Facts on the file at the path; undefined without any: opening it tells the reason. */
function infoOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
