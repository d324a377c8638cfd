/** Vehicle telemetry: the messages that W1, W2, W4, W5, P and L share. */
import { ID_MARK, type Message } from '../messages/frames.js';
import { BLOCK_ROWS, BLOCKS, random } from './workload.js';

export interface Reading {
  device: string;
  temp: number;
  speed: number;
  hum: number;
  ts: number;
}

/** Readings of `devices` devices, one block after the other. */
export function readings(devices: number): Reading[][] {
  const next = random(42);
  const width = String(devices - 1).length;
  const blocks: Reading[][] = [];
  for (let b = 0; b < BLOCKS; b++) {
    const block: Reading[] = [];
    for (let i = 0; i < BLOCK_ROWS; i++) {
      block.push({
        device: `dev-${String(Math.floor(next() * devices)).padStart(width, '0')}`,
        temp: Math.round((15 + next() * 20) * 100) / 100,
        speed: Math.round(next() * 1300) / 10,
        hum: Math.round((30 + next() * 60) * 10) / 10,
        ts: 1_700_000_000_000 + (b * BLOCK_ROWS + i) * 10,
      });
    }
    blocks.push(block);
  }
  return blocks;
}

/** One reading as the payload text of the data set; `i` picks the variation. */
export function payloadOf(reading: Reading, dataSet: string, i: number): string {
  const { device, temp, speed, hum, ts } = reading;
  if (dataSet !== 'varied') {
    return `{"id":${ID_MARK},"device":"${device}","temp":${temp},"speed":${speed},"hum":${hum},"ts":${ts}}`;
  }
  switch (i % 6) {
    case 0:
      return `{"ts":${ts},"speed":${speed},"temp":${temp},"id":${ID_MARK},"device":"${device}","hum":${hum}}`;
    case 1:
      return (
        `{ "id" : ${ID_MARK}, "device" : "${device}", "temp" : ${temp}, "speed" : ${speed}, "hum" : ${hum}, "ts" : ` +
        `${ts} }`
      );
    case 2:
      return (
        `{"id":${ID_MARK},"site":"Halle 7","device":"${device}","tags":["a","b",{"k":1}],"temp":${temp},` +
        `"ok":true,"speed":${speed},"err":null,"hum":${hum},"ts":${ts}}`
      );
    case 3:
      return (
        `{"id":${ID_MARK},"device":"\\u0064ev${device.slice(3)}","temp":${temp},"speed":${speed},` +
        `"note":"\\"quoted\\" \\u00e9\\n","hum":${hum},"ts":${ts}}`
      );
    case 4:
      return (
        `{"pos":{"lat":48.137154,"lon":11.576124},"id":${ID_MARK},"device":"${device}","temp":${temp}e0,` +
        `"speed":${speed},"hum":${hum},"ts":${ts},"unit":"°C"}`
      );
    default:
      return (
        `{"id":${ID_MARK},\n  "device":"${device}",\n  "temp":${temp},\n  "speed":${speed},\n  "hum":${hum},\n  ` +
        `"ts":${ts}\n}`
      );
  }
}

/** The blocks of messages; `topicOf` gives the topic of each reading. */
export function telemetryMessages(
  devices: number,
  dataSet: string,
  topicOf: (reading: Reading) => string,
): Message[][] {
  return readings(devices).map((block) =>
    block.map((reading, i) => ({ topic: topicOf(reading), payload: payloadOf(reading, dataSet, i) })),
  );
}
