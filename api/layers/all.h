#pragma once

// Every layer and what they are made with: one line here, and one below for those that files name.
#include <nyala/api/layers/activation.h>
#include <nyala/api/layers/add.h>
#include <nyala/api/layers/arguments.h>
#include <nyala/api/layers/average_pooling2d.h>
#include <nyala/api/layers/axes.h>
#include <nyala/api/layers/batch_normalization.h>
#include <nyala/api/layers/bidirectional.h>
#include <nyala/api/layers/builder.h>
#include <nyala/api/layers/concatenate.h>
#include <nyala/api/layers/conv2d.h>
#include <nyala/api/layers/conv_lstm2d.h>
#include <nyala/api/layers/dense.h>
#include <nyala/api/layers/dropout.h>
#include <nyala/api/layers/embedding.h>
#include <nyala/api/layers/flatten.h>
#include <nyala/api/layers/fused_activation.h>
#include <nyala/api/layers/global_average_pooling2d.h>
#include <nyala/api/layers/global_max_pooling2d.h>
#include <nyala/api/layers/gru.h>
#include <nyala/api/layers/gru_cell.h>
#include <nyala/api/layers/input.h>
#include <nyala/api/layers/lambda.h>
#include <nyala/api/layers/layer.h>
#include <nyala/api/layers/lstm.h>
#include <nyala/api/layers/lstm_cell.h>
#include <nyala/api/layers/mask.h>
#include <nyala/api/layers/masking.h>
#include <nyala/api/layers/max_pooling2d.h>
#include <nyala/api/layers/names_required.h>
#include <nyala/api/layers/padding_sizes2d.h>
#include <nyala/api/layers/recurrent_cell.h>
#include <nyala/api/layers/recurrent_layer.h>
#include <nyala/api/layers/relu.h>
#include <nyala/api/layers/rescaling.h>
#include <nyala/api/layers/reshape.h>
#include <nyala/api/layers/rnn.h>
#include <nyala/api/layers/simple_rnn.h>
#include <nyala/api/layers/simple_rnn_cell.h>
#include <nyala/api/layers/size2d.h>
#include <nyala/api/layers/softmax.h>
#include <nyala/api/layers/stacked_rnn_cells.h>
#include <nyala/api/layers/time_distributed.h>
#include <nyala/api/layers/time_steps.h>
#include <nyala/api/layers/zero_padding2d.h>
#include <nyala/api/name_table.h>

namespace nyala {

using Layers =
    ClassList<Activation, Add, AveragePooling2D, BatchNormalization, Bidirectional, Concatenate, Conv2D,
              ConvLSTM2D, Dense, Dropout, Embedding, Flatten, GlobalAveragePooling2D, GlobalMaxPooling2D, GRU,
              GRUCell, LSTM, LSTMCell, Masking, MaxPooling2D, ReLU, Rescaling, Reshape, RNN, SimpleRNN,
              SimpleRNNCell, Softmax, StackedRNNCells, TimeDistributed, ZeroPadding2D>;

}  // namespace nyala
