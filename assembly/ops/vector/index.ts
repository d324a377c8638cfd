export { vectorCosine, vectorDistance, vectorDot } from './pairs';
export { vectorMatch } from './match';
