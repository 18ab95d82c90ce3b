#pragma once

// Every architecture of keras.applications and what they are made with.
#include <nyala/models/application_config.h>
#include <nyala/models/convnext.h>
#include <nyala/models/decode_predictions.h>
#include <nyala/models/densenet.h>
#include <nyala/models/efficientnet.h>
#include <nyala/models/efficientnet_v2.h>
#include <nyala/models/find_application.h>
#include <nyala/models/image_application.h>
#include <nyala/models/inception_blocks.h>
#include <nyala/models/inception_resnet_v2.h>
#include <nyala/models/inception_v3.h>
#include <nyala/models/mobile_blocks.h>
#include <nyala/models/mobilenet.h>
#include <nyala/models/mobilenet_v2.h>
#include <nyala/models/mobilenet_v3.h>
#include <nyala/models/names.h>
#include <nyala/models/nasnet.h>
#include <nyala/models/preprocess_input.h>
#include <nyala/models/pretrained_file.h>
#include <nyala/models/resnet.h>
#include <nyala/models/vgg.h>
#include <nyala/models/xception.h>
