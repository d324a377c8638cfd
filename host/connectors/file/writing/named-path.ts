/** Paths that a template makes: values from the data can't lead out of the folder. */
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { AllowedPaths } from '../../../base/files/allowed-paths.js';
import { fileErrors } from '../errors.js';

export class NamedPaths {
  /** The folder that the text before the first action names; undefined when there is none. */
  readonly #folder: string | undefined;
  /** Rules for the paths that the template may make. */
  readonly paths: AllowedPaths;

  /** Throws a `config` error for a folder that is not allowed. */
  constructor(template: string, paths: AllowedPaths) {
    const literal = template.slice(0, template.indexOf('{{'));
    const at = literal.lastIndexOf('/');
    const { rules } = paths;
    this.#folder = at < 0 ? undefined : resolve(rules.base, literal.slice(0, at + 1));
    // A path that is all data stays where the server's folders are, even where rules may name any.
    this.paths = at < 0 ? new AllowedPaths({ ...rules, isOpen: false }) : paths;
    if (this.#folder !== undefined) paths.check(this.#folder, 'write');
  }

  /** Returns the absolute path; throws a `config` error for one that leads elsewhere. */
  check(path: string): string {
    const absolute = this.paths.check(path, 'write');
    const folder = this.#folder;
    if (folder !== undefined && !isBelow(absolute, folder)) throw fileErrors.denied(shown(path), folder);
    if (/[/\\]$|(^|\/)\.\.?$/.test(path)) throw fileErrors.noName(shown(path));
    return absolute;
  }
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function shown(path: string): string {
  return path.length > 200 ? `${path.slice(0, 197)}...` : path;
}
