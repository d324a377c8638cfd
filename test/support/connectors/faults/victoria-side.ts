/** VictoriaMetrics as the other side of sinks, which write a member `id`. */
import { freePort, temporaryFolder } from '../../harness.js';
import { openVictoria, type VictoriaServer } from '../../servers/time-series.js';

export async function openVictoriaSide() {
  const port = await freePort();
  const folder = temporaryFolder();
  let victoria: VictoriaServer;
  const side = {
    addr: `http://127.0.0.1:${port}`,
    start: async () => {
      victoria = await openVictoria(port, folder);
    },
    kill: () => victoria.close(),
    pause: () => victoria.pause(),
    resume: () => victoria.resume(),
    close: () => victoria.close(),
    arrived: async () => (await victoria.stored('{__name__=~".*id"}')).flatMap(({ values }) => values),
    /** It confirms what it has in memory. */
    mayLose: true,
    tls: {
      props: (to: number) => ({ url: `https://127.0.0.1:${to}/api/v1/write` }),
      plainPort: port,
    },
  };
  await side.start();
  return side;
}
