/** Certificate and key of a server, from files that may be replaced while it runs. */
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { reasonOf } from '../errors.js';
import { portErrors } from './errors.js';

export interface TlsFiles {
  readonly certfile?: string;
  readonly keyfile?: string;
}

export interface Pem {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Log for messages about replaced files. */
export interface TlsLog {
  info(message: string): void;
  warn(message: string): void;
}

export class TlsPair {
  pem: Pem;
  #stamp: string;

  /**
   * Reads both files; throws a `config` error that names the file. `where` is the name of the setting, `basic.restTls`.
   */
  constructor(
    private readonly certfile: string,
    private readonly keyfile: string,
    private readonly where: string,
    private readonly log: TlsLog,
  ) {
    this.#stamp = this.#stampNow();
    this.pem = this.#read();
  }

  /**
   * The pair on disk if it has changed and can be used; else undefined. The log names the reason for an unusable pair.
   */
  renewed(): Pem | undefined {
    const stamp = this.#stampNow();
    if (stamp === this.#stamp) return undefined;
    // An unusable pair is read again when one of its files changes, since the two files are replaced one after the
    // other.
    this.#stamp = stamp;
    try {
      const pem = this.#read();
      createSecureContext({ ...pem });
      this.pem = pem;
      this.log.info(`${this.where}: certificate and key were replaced, new connections get them`);
      return pem;
    } catch (error) {
      const what = `${this.where}: certificate and key that were replaced can't be used, those before stay`;
      this.log.warn(`${what}: ${reasonOf(error)}`);
      return undefined;
    }
  }

  #read(): Pem {
    return { cert: this.#file('certfile', this.certfile), key: this.#file('keyfile', this.keyfile) };
  }

  #file(name: string, path: string): Buffer {
    try {
      return readFileSync(path);
    } catch (error) {
      throw portErrors.unreadable(`${this.where}.${name} ${path}`, reasonOf(error), { cause: error });
    }
  }

  #stampNow(): string {
    const stampOf = (path: string) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found === undefined ? '' : `${found.mtimeMs} ${found.size} ${found.ino}`;
    };
    return `${stampOf(this.certfile)} ${stampOf(this.keyfile)}`;
  }
}

/** Reads certificate and key; throws a `config` error where one of them is not set. */
export function readTls({ certfile, keyfile }: TlsFiles, where: string, log: TlsLog): TlsPair {
  if (!certfile || !keyfile) throw portErrors.incomplete(where);
  return new TlsPair(certfile, keyfile, where, log);
}
