/** What is done with each file that is complete: a server is told of it. */
import { reasonOf } from '../../../base/errors.js';
import { HttpClient } from '../../../http/client.js';

export interface HookConf {
  url: string;
  method: string;
  headers: Readonly<Record<string, unknown>>;
  /** ms */
  timeout: number;
}

/** Files that may wait to be told; more means that the server is gone. */
const mostWaiting = 1000;

export class HttpHook {
  readonly #client: HttpClient;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  /** @param failed gets the reason when the server was not told */
  constructor(
    private readonly conf: HookConf,
    private readonly rule: string,
    private readonly failed: (reason: string) => void,
  ) {
    this.#client = new HttpClient({ timeoutMs: conf.timeout, maxAtOnce: 1, tls: {} });
  }

  /** Tells of the file when those before are told; resolves when that is over. */
  complete(path: string): Promise<void> {
    if (this.#waiting >= mostWaiting) {
      this.failed(`rollingHook: ${path} is not told, since ${mostWaiting} files wait`);
      return Promise.resolve();
    }
    this.#waiting++;
    this.#last = this.#last.then(() => this.#tell(path)).finally(() => this.#waiting--);
    return this.#last;
  }

  async #tell(path: string): Promise<void> {
    const { url, method, headers } = this.conf;
    const body = Buffer.from(JSON.stringify({ file: path, rule: this.rule, time: Date.now() }));
    const all = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    try {
      const answer = await this.#client.send({
        method,
        url,
        headers: { 'Content-Type': 'application/json', ...all },
        body,
      });
      if (answer.status >= 300) this.failed(`rollingHook: ${path}: the server answers ${answer.status}`);
    } catch (error) {
      this.failed(`rollingHook: ${path}: ${reasonOf(error)}`);
    }
  }

  /** Resolves when all files are told, each in its time. */
  async close(): Promise<void> {
    await this.#last;
    this.#client.close();
  }
}
