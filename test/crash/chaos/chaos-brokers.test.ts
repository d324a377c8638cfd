/** Brokers that write to disk after each change are killed hard, ended and stopped, with the engine killed as well. */
import { test } from 'uvu';
import { brokers } from '../../support/crash/chaos-brokers.js';

brokers('a killed broker that writes after each change costs the engine no message', 'mqtt-mqtt', 'change');

test.run();
