/** Streams that rules share are read when all rules are there that start together. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Planes } from '../../../../host/run/planes/planes.js';
import type { Supervisor } from '../../../../host/run/planes/supervisor.js';

test('rules that start again after a loss do not end the start of the server, nor the other way round', () => {
  const told: boolean[] = [];
  const command = ({ isMoreComing }: { isMoreComing: boolean }) => void told.push(isMoreComing);
  const planes = new Planes(() => ({ command }) as unknown as Supervisor);
  planes.startsAll(true);
  void planes.first;
  planes.startsAll(true);
  planes.startsAll(false);
  assert.equal(told, [true, true, true]);
  planes.startsAll(false);
  assert.equal(told, [true, true, true, false]);
});

test.run();
