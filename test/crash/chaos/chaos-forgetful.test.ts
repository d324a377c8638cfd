/** Brokers that forget all when they are killed, sessions included, with the engine killed as well. */
import { test } from 'uvu';
import { brokers } from '../../support/crash/chaos-brokers.js';

brokers('what a broker forgets is told from what the engine loses: nothing', 'mqtt-file', 'never');

test.run();
