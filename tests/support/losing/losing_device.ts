/**
 * Makes this thread's WebGPU devices end as the query of the thread's address says (losing_worker.ts). Submits count from the first
 * stage on: how many the comparison with the processor takes before it depends on the stage's shapes.
 */

const wanted = new URLSearchParams(self.location.search);
const loseAt = Number(wanted.get("lose") ?? NaN);
const crashAt = Number(wanted.get("crash") ?? NaN);

let isStageOpened = false;
self.addEventListener("message", ({ data }: MessageEvent<{ type?: string }>) => {
  if (data.type === "openStage") isStageOpened = true;
});

const open = GPUAdapter.prototype.requestDevice;
GPUAdapter.prototype.requestDevice = async function (descriptor) {
  const device = await open.call(this, descriptor);
  const submit = device.queue.submit.bind(device.queue);
  let submits = 0;
  device.queue.submit = (buffers) => {
    if (isStageOpened) submits += 1;
    if (submits === crashAt) throwLater();
    submit(buffers);
    if (submits === loseAt) device.destroy();
  };
  return device;
};

/** Not from a call of ours, so nobody catches it. */
function throwLater(): void {
  queueMicrotask(() => {
    throw new Error("the driver took the thread with it");
  });
}
