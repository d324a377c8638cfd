/** Dead letters over kill -9 of the server while their broker is away: each message is out, or its letter is. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { hasMosquitto } from '../../support/brokers/mosquitto.js';
import { Outside, Plant, range } from '../../support/brokers/plant.js';
import { openHttp } from '../../support/connectors/http-server.js';
import { announceSkip } from '../../support/harness.js';

if (!hasMosquitto) announceSkip('dead letters over kill -9', 'mosquitto is not installed');
const killed = hasMosquitto ? test : test.skip;

let plant: Plant;
test.before(async () => {
  if (hasMosquitto) plant = await Plant.open();
});
test.after(async () => {
  if (hasMosquitto) await plant.close();
});

for (const qos of [0, 1]) {
  killed(`a rule with qos ${qos} loses neither messages nor letters`, async () => {
    const server = await openHttp();
    const taken = new Set<number>();
    server.answer = (response, { body }) => {
      const { id } = JSON.parse(body) as { id: number };
      response.statusCode = id % 10 === 7 ? 422 : 200;
      if (response.statusCode === 200) taken.add(id);
      response.end();
    };
    const topic = `t${qos}`;
    const letters = await Outside.make('dead');
    await plant.stream(topic, 1, { clientid: topic, enableClientSession: true });
    const deadLetter = { mqtt: { server: letters.url, topic: 'dead', qos: 1 } };
    const action = { rest: { url: server.url, method: 'post', sendSingle: true, deadLetter } };
    await plant.rule(topic, topic, action, { qos, checkpointInterval: '200ms' });
    let sent = 0;
    for (let round = 0; round < 2; round++) {
      const sending = plant.send(topic, sent, sent + 300);
      sent += 300;
      await plant.figure(topic, 'sink_rest_0_0_records_in_total', (value) => value > 100);
      await plant.kill();
      await sending;
    }
    await letters.start();
    const ids = new Set<number>();
    while (ids.size < sent / 10) {
      const missing = sent / 10 - ids.size;
      for (const { text } of await letters.messages(missing)) {
        const { message, sink, reason } = JSON.parse(text) as Record<string, string>;
        assert.equal([sink, reason], ['sink_rest_0', 'status 422']);
        ids.add((JSON.parse(String(message)) as { id: number }).id);
      }
    }
    await plant.figure(topic, 'sink_rest_0_0_buffer_length', (value) => value === 0);
    const lost = range(0, sent).filter((id) => !taken.has(id) && !ids.has(id));
    assert.equal(lost, []);
    assert.ok([...ids].every((id) => id % 10 === 7));
    await plant.server.request('DELETE', `/rules/${topic}`);
    await letters.stop();
    await server.close();
  });
}

test.run();
