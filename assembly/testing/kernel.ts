// The kernel as it ships, built for the tests when its sources have changed.
export * from '../index';
