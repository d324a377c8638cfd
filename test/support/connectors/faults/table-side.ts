/** A table that a source asks for new rows, whatever the database. */

import type { OtherSide, Row } from './site.js';
import type { SourceSide } from './source-side.js';

/** A database with the table `numbered`: `n` counts its rows, which have an `id` and a `text`. */
export interface TableServer extends OtherSide {
  readonly url: string;
  /** Adds rows of a JSON list of objects; resolves with the last `n`. */
  add(rows: string): Promise<number>;
  readonly more: Pick<SourceSide, 'refusal' | 'tls'>;
}

/** Most messages and bytes of one statement. */
const most = { messages: 500, bytes: 8 << 20 };

export function tableSide(server: TableServer, limit = ''): SourceSide {
  /** Rows that were there before a rule is made are not read by it. */
  let last = 0;
  const { start, kill, pause, resume, close } = server;
  return {
    ...{ start, kill, pause, resume, close },
    ...server.more,
    dataSource: 'messages',
    get props(): Row {
      return {
        dburl: server.url,
        interval: 50,
        timeout: 3000,
        templateSqlQueryCfg: {
          templateSql: `SELECT n, id, text FROM numbered WHERE n > {{.n}} ORDER BY n ${limit}`,
          indexField: 'n',
          indexValue: last,
        },
      };
    },
    send: async (messages) => {
      for (let from = 0; from < messages.length; ) {
        const texts: string[] = [];
        for (let bytes = 0; from < messages.length && texts.length < most.messages && bytes < most.bytes; from++) {
          texts.push(messages[from]!.toString());
          bytes += messages[from]!.length;
        }
        last = await server.add(`[${texts.join(',')}]`);
      }
    },
  };
}
