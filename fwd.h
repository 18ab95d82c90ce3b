#pragma once

// Names only, for headers that mention Nyala's types.
namespace nyala {

class Call;
class Callback;
class Dataset;
class History;
class Layer;
class Logs;
class Loss;
class Metric;
class Model;
class Optimizer;
class Sequential;
class Shape;
class Strategy;
class Tensor;
class Variable;
struct Arrays;
struct Device;
struct Element;

}  // namespace nyala
